"""The time that a tuning may take by default."""

DEFAULT = 300.0
"""Seconds that a tuning may take by default."""

INSENSITIVE = 45.0
"""Default for a program that is not lock-sensitive by its profile: the answer should come within a
minute, with the work before and after the runs."""


def default(sensitive: bool) -> float:
    """Return the default in seconds. sensitive: whether the program is, by its profile."""
    return DEFAULT if sensitive else INSENSITIVE
