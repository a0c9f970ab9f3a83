"""Time budgets, and their text form such as 5m."""

import re

from lockwright.base.errors import LockwrightError

DEFAULT = 300.0
"""Seconds that a tuning may take by default."""

INSENSITIVE = 45.0
"""Default for a program that is not lock-sensitive by its profile: the answer should come within a
minute, with the work before and after the runs."""


def default(sensitive: bool) -> float:
    """Return the default in seconds. sensitive: whether the program is, by its profile."""
    return DEFAULT if sensitive else INSENSITIVE


_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_seconds(text: str) -> float:
    """Return the seconds of a time such as 90, 90s, 5m or 1h. Raises LockwrightError for other
    text."""
    match = _TIME.fullmatch(text.strip())
    value = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < value < 1e7:
        raise LockwrightError(f"--budget '{text}' is not a time", "write it as 90s, 5m or 1h")
    return value
