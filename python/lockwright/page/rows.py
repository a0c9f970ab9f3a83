"""Rows of a table on a page; the macro `grid` of page/macros.html draws them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

Cell = tuple[str, str]
"""The text, and the sort key: a number, a word, or '' for none."""


class Row(NamedTuple):
    """A row of a table. kind: its CSS class; link: the target of the link in the first cell."""

    cells: Iterable[Cell]
    kind: str = ""
    link: str = ""


def number(value: float, text: str) -> Cell:
    """Return a cell with a number, sorted by its value; NaN becomes an empty cell."""
    return ("-", "") if math.isnan(value) else (text, repr(float(value)))
