"""Locks under all that a program and a machine can do to them."""
