"""Locks on a simulated machine, run by `lockwright-simulate`."""
