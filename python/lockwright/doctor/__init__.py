"""Checks of the machine's state for effects on a measurement of locks."""
