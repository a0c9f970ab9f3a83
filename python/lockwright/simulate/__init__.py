"""Locks on a machine that is described in a file: `lockwright-simulate` runs them."""
