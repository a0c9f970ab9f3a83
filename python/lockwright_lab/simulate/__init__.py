"""Locks on a simulated machine: what `lockwright simulate` does."""
