"""A finding about the machine."""

from dataclasses import dataclass

OK = "ok"
WARN = "warn"
ABSENT = "absent"


@dataclass(frozen=True)
class Finding:
    """The state of one property of the machine, and its effect on a measurement of locks.

    level: OK, WARN (it disturbs or prevents a measurement) or ABSENT (the machine lacks it or does
    not report it). found: the state. advice: the remedy, or "".
    """

    name: str
    level: str
    found: str
    effect: str
    advice: str = ""


def counted(number: int, what: str) -> str:
    """Return a number with a noun: `1 processor`, `2 processors`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
