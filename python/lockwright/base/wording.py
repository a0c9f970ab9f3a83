"""Names and sentences as English text."""

from collections.abc import Collection, Sequence


def together(names: Sequence[str]) -> str:
    """Return names as a list, such as `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def either(names: Sequence[str]) -> str:
    """Return names as alternatives, such as `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def sentence(text: str, names: Collection[str] = ()) -> str:
    """Return a text as a sentence: with a capital letter, unless it begins with one of `names`, and
    a full stop."""
    first = text.split(" ", 1)[0].rstrip(":,;")
    return f"{text}." if first in names else f"{text[:1].upper()}{text[1:]}."
