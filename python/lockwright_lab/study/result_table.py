"""A table of a study: in full precision for programs, rounded as in the papers for people."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from lockwright.base import numbers

PERCENT, RATIO, NUMBER, FIGURE = "percent", "ratio", "number", "figure"
TEXT, CORRELATION, CHANCE = "text", "correlation", "chance"
"""The formats of a column; shares and gains are integers in per cent, as in the papers."""

MISSING = "-"


@dataclass(frozen=True)
class Table:
    """A table. name: short, for files and options. frame: its index is the first column. meaning:
    of the cells. heading: of the first column. formats: by column, otherwise `usual`. aside:
    whether it is printed only on request."""

    name: str
    title: str
    frame: pd.DataFrame
    meaning: str
    heading: str
    usual: str = PERCENT
    formats: Mapping[str, str] = field(default_factory=dict)
    aside: bool = False

    def columns(self) -> list[str]:
        return [self.heading, *map(str, self.frame.columns)]

    def rows(self) -> list[list[str]]:
        """Return all cells as text, with the first column."""
        formats = [self.formats.get(str(column), self.usual) for column in self.frame.columns]
        return [
            [str(key), *(text(value, form) for value, form in zip(line, formats, strict=True))]
            for key, *line in self.frame.itertuples()
        ]

    def numbers(self) -> list[dict[str, object]]:
        """Return all cells in full precision: shares as fractions, None where missing."""
        names = self.columns()
        return [
            dict(zip(names, [str(key), *map(_plain, line)], strict=True))
            for key, *line in self.frame.itertuples()
        ]


def text(value: object, form: str) -> str:
    """Return the text of one cell. Per cent are rounded to integers, an exact half to even."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if form == TEXT or isinstance(value, str):
        return str(value)
    number = float(str(value))
    if form == PERCENT:
        # Adding 0 makes -0 a 0.
        return f"{round(100 * number) + 0}"
    if form == RATIO:
        return numbers.ratio(number) if number > 0 else f"{number:.2f}"
    if form == FIGURE:
        return numbers.figure(number)
    if form == CORRELATION:
        return f"{number:.2f}"
    if form == CHANCE:
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    return f"{number:.0f}"


def _plain(value: object) -> object:
    if isinstance(value, str) or value is None:
        return value
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else None
