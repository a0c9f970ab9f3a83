"""Names and sentences as English text."""

from collections.abc import Collection, Sequence

from lockwright.base import numbers


def together(names: Sequence[str], before_last: str = "and") -> str:
    """Return names as a list, such as `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} {before_last} {last}" if first else last


def either(names: Sequence[str]) -> str:
    """Return names as alternatives, such as `a, b or c`."""
    return together(names, "or")


def sentence(text: str, names: Collection[str] = ()) -> str:
    """Return a text as a sentence: with a capital letter, unless it begins with one of `names`, and
    a full stop."""
    first = text.split(" ", 1)[0].rstrip(":,;")
    return f"{text}." if first in names else f"{text[:1].upper()}{text[1:]}."


def counted(number: float, noun: str) -> str:
    """Return a number with a noun: `1 processor`, `2 processors`."""
    return f"{numbers.count(number)} {noun}{'' if number == 1 else 's'}"
