"""The data of plots, which page/page.js and vector draw."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

Number = float | None
"""A value; None where there is none."""

PROGRAM, LOCK = "program", "lock"
"""The kinds of rows or columns of a plot that have their own pages."""


@dataclass(frozen=True)
class Series:
    """Values by the categories of a plot; low and high: ends of their intervals, if any."""

    name: str
    values: Sequence[Number]
    low: Sequence[Number] = ()
    high: Sequence[Number] = ()


@dataclass(frozen=True)
class Heat:
    """A matrix in colours. texts: of the cells. ends: the values of the palest and the fullest
    colour. of_rows, of_columns: PROGRAM, LOCK or ''."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[Number]]
    texts: Sequence[Sequence[str]]
    ends: tuple[float, float]
    scale: str
    of_rows: str = ""
    of_columns: str = ""


@dataclass(frozen=True)
class Dots:
    """Rows with a dot for each series; line: the value of a reference line."""

    rows: Sequence[str]
    series: Sequence[Series]
    axis: str
    logarithmic: bool = False
    line: Number = None
    of_rows: str = ""


@dataclass(frozen=True)
class Lines:
    """Series over numbers. steps: whether the numbers are counts at equal distances."""

    x: Sequence[float]
    series: Sequence[Series]
    x_axis: str
    y_axis: str
    steps: bool = True
    logarithmic: bool = False


@dataclass(frozen=True)
class Bars:
    """Series over categories."""

    categories: Sequence[str]
    series: Sequence[Series]
    axis: str


@dataclass(frozen=True)
class Points:
    """Clouds of points, each with its name, x, y and names of points. diagonal: whether the line
    x = y is drawn."""

    clouds: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[str]]]
    x_axis: str
    y_axis: str
    logarithmic: bool = False
    diagonal: bool = False


@dataclass(frozen=True)
class Boxes:
    """The spread of values in each row; labels: of the values."""

    rows: Sequence[str]
    values: Sequence[Sequence[float]]
    labels: Sequence[Sequence[str]]
    axis: str
    of_rows: str = ""


Plot = Heat | Dots | Lines | Bars | Points | Boxes


@dataclass(frozen=True)
class Figure:
    """A figure of the report. name: short, for files. how: the computation of its values. shows:
    the result in a sentence. table: name of the table with its values, or ''."""

    name: str
    title: str
    how: str
    shows: str
    plot: Plot
    table: str = ""

    def drawing(self) -> dict[str, Any]:
        """Return the plot as JSON for the page's script."""
        return {"kind": type(self.plot).__name__.lower(), **asdict(self.plot)}


def numbers(values: Iterable[object]) -> list[Number]:
    """Return numbers with six significant digits; None for those that are not finite."""
    finite: list[Number] = []
    for value in values:
        number = math.nan if value is None else float(str(value))
        finite.append(float(f"{number:.6g}") if math.isfinite(number) else None)
    return finite


def heat(
    frame: pd.DataFrame, ends: tuple[float, float], scale: str, of: tuple[str, str] = ("", "")
) -> Heat:
    """Return a heat map of shares, in per cent."""
    values = [numbers(line) for line in frame.to_numpy()]
    texts = [["" if v is None else f"{100 * v:.0f}" for v in line] for line in values]
    rows, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    return Heat(rows, columns, values, texts, ends, scale, *of)


def series(columns: Mapping[str, Iterable[object]]) -> list[Series]:
    """Return series without intervals."""
    return [Series(name, numbers(values)) for name, values in columns.items()]


def leaders(values: pd.Series, least: bool = False) -> str:
    """Return the name with the highest value, or the lowest; of several equal, the first three."""
    names = list(values.index[values == (values.min() if least else values.max())])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + more
