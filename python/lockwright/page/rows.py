"""Lines of a table on a page; the macro `grid` of page/macros.html draws them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

Cell = tuple[str, str]
"""Its text, and what it is sorted by: a number, a word, or '' for none."""


class Row(NamedTuple):
    """kind: class of the line. link: where the first cell leads."""

    cells: Iterable[Cell]
    kind: str = ""
    link: str = ""


def number(value: float, text: str) -> Cell:
    """A cell with a number, which is sorted by its value; NaN is none."""
    return ("-", "") if math.isnan(value) else (text, repr(float(value)))
