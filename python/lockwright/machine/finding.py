"""One thing that was looked at."""

from dataclasses import dataclass

OK = "ok"
WARN = "warn"
ABSENT = "absent"


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what it means for a measurement of locks.

    level: OK, WARN (it disturbs a measurement, or forbids one) or ABSENT (the machine does not
    have it, or does not say). found: what is there, in a few words. effect: what that does to a
    measurement. advice: what to do about it; "" where nothing is to be done.
    """

    name: str
    level: str
    found: str
    effect: str
    advice: str = ""


def several(number: int, what: str) -> str:
    """`1 processor`, `2 processors`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
