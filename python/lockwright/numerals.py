"""Numbers as programs print them."""

import math
import re

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def number(text: str | None) -> float | None:
    """The finite number that `text` is, commas between thousands allowed; None if it is none."""
    if text is None:
        return None
    word = text.strip()
    if _THOUSANDS.fullmatch(word):
        word = word.replace(",", "")
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
