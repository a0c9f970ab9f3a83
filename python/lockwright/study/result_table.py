"""A table of a study: full precision for programs, the digits that the papers print for people."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from lockwright.base import numbers

PERCENT, RATIO, NUMBER, TEXT, CORRELATION, CHANCE = (
    "percent",
    "ratio",
    "number",
    "text",
    "correlation",
    "chance",
)
"""How a column is printed: shares and gains as whole per cent, as the papers do."""

MISSING = "-"


@dataclass(frozen=True)
class Table:
    """name: short, for files and options. title: for people. frame: its index is the first column.

    formats: per column, else `usual`. heading: of the first column. meaning: what a cell says.
    aside: printed only if it is asked for.
    """

    name: str
    title: str
    frame: pd.DataFrame
    meaning: str
    heading: str
    usual: str = PERCENT
    formats: Mapping[str, str] = field(default_factory=dict)
    aside: bool = False

    def columns(self) -> list[str]:
        """All headings."""
        return [self.heading, *map(str, self.frame.columns)]

    def rows(self) -> list[list[str]]:
        """All cells as text, the first column too."""
        ways = [self.formats.get(str(column), self.usual) for column in self.frame.columns]
        return [
            [str(key), *(text(value, way) for value, way in zip(line, ways, strict=True))]
            for key, line in zip(self.frame.index, self.frame.itertuples(index=False), strict=True)
        ]

    def numbers(self) -> list[dict[str, object]]:
        """All cells in full, for JSON: shares as fractions, None where there is nothing."""
        names = self.columns()
        return [
            dict(zip(names, [str(key), *map(_plain, line)], strict=True))
            for key, line in zip(self.frame.index, self.frame.itertuples(index=False), strict=True)
        ]


def text(value: object, way: str) -> str:
    """One cell. Per cent are rounded to whole ones, an exact half to the even one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if way == TEXT or isinstance(value, str):
        return str(value)
    number = float(str(value))
    if way == PERCENT:
        # Adding 0 makes -0 a 0.
        return f"{round(100 * number) + 0}"
    if way == RATIO:
        return numbers.ratio(number) if number > 0 else f"{number:.2f}"
    if way == CORRELATION:
        return f"{number:.2f}"
    if way == CHANCE:
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    return f"{number:.0f}"


def _plain(value: object) -> object:
    if isinstance(value, str) or value is None:
        return value
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else None
