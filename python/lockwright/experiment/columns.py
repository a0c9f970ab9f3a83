"""The columns of an experiment's tables, and how the usual ones are made."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.experiment.model import Cell, Figure
from lockwright.experiment.summary import Summary
from lockwright.stats.spread import format_ratio, format_spread


@dataclass(frozen=True)
class Column:
    """A column of a table. definition: a sentence for the legend and for --help; text: of the
    results of a contender in a cell; key: by which a page sorts the column, None for the text."""

    heading: str
    definition: str
    text: Callable[[Summary], str]
    key: Callable[[Summary], float | str | None] | None = None


def cell_name(cell: Cell) -> str:
    """Return the usual title of a cell's table: the name of the cell."""
    return cell.name


@dataclass(frozen=True)
class TableOf:
    """A table that is made for each cell, with a row for each contender. title: of a cell; rows:
    whether a contender has a row; order: sort key of the rows, by default in their order."""

    columns: Sequence[Column]
    title: Callable[[Cell], str] = cell_name
    rows: Callable[[Summary], bool] = lambda _: True
    order: Callable[[Summary], float] = lambda _: 0.0


def name(heading: str = "lock", definition: str = "") -> Column:
    """Return the first column, the contender's name."""
    return Column(heading, definition, lambda row: row.contender)


def _key(figure: str) -> Callable[[Summary], float | None]:
    def key(row: Summary) -> float | None:
        values = row.over_rounds(figure)
        return None if values is None else values.median

    return key


def with_spread(figure: Figure) -> Column:
    """Return the median of a figure with half the distance of its quartiles in per cent; instead,
    where no run has a value, why."""

    def text(row: Summary) -> str:
        values = row.over_rounds(figure.name)
        return no_value(row) if values is None else format_spread(values, figure.scale)

    return Column(figure.heading or figure.name, figure.definition, text, _key(figure.name))


def median(figure: Figure, show: Callable[[float], str] = numbers.plain) -> Column:
    """Return the median of a figure alone, `-` without one. show: the text of a value."""

    def text(row: Summary) -> str:
        values = row.over_rounds(figure.name)
        return "-" if values is None else show(values.median / figure.scale)

    return Column(figure.heading or figure.name, figure.definition, text, _key(figure.name))


def extreme(
    figure: Figure,
    of: Callable[[Iterable[float]], float],
    show: Callable[[float], str] = numbers.plain,
) -> Column:
    """Return the value over all rounds that `of` chooses, max or min, `-` without one."""

    def key(row: Summary) -> float | None:
        values = row.by_round(figure.name).values()
        return of(values) if values else None

    def text(row: Summary) -> str:
        value = key(row)
        return "-" if value is None else show(value / figure.scale)

    return Column(figure.heading or figure.name, figure.definition, text, key)


def fixed(digits: int) -> Callable[[float], str]:
    """Return a function that shows a value with so many decimals."""
    return lambda value: f"{value:.{digits}f}"


def own_ratio(figure: Figure) -> Column:
    """Return the median of a figure that is a ratio by itself, with three decimals."""
    return Column(
        figure.heading or figure.name,
        figure.definition,
        lambda row: format_ratio(row.over_rounds(figure.name)),
        _key(figure.name),
    )


def ratio(figure: Figure, reference: str) -> Column:
    """Return the paired ratio of a figure to the reference's, as `Summary.paired` defines it."""

    def key(row: Summary) -> float | None:
        paired = row.paired(figure.name, figure.lower_is_better)
        return None if paired is None else paired.value

    def text(row: Summary) -> str:
        value = key(row)
        return "-" if value is None else "1" if row.contender == reference else numbers.ratio(value)

    of = f"{figure.heading or figure.name} divided by {reference}'s of the same round"
    if figure.lower_is_better:
        of = f"{reference}'s {figure.heading or figure.name} divided by the row's of the same round"
    meaning = f"{of}, as the geometric mean over the rounds; above 1 is better than {reference}."
    return Column(f"ratio to {reference}", meaning, text, key)


def interval(figure: Figure, reference: str) -> Column:
    """Return the 95 % confidence interval of that ratio."""

    def text(row: Summary) -> str:
        paired = row.paired(figure.name, figure.lower_is_better)
        if paired is None or row.contender == reference:
            return "-"
        return numbers.interval(paired.low, paired.high)

    meaning = "confidence interval of the ratio; if it contains 1, the difference may be chance."
    return Column("95 % CI", meaning, text)


def no_value(row: Summary) -> str:
    """Return why a contender has no value, as the text of its cell."""
    if row.left_out:
        return "left out"
    if row.timeouts:
        return "timed out"
    return "failed" if row.failures else "-"


def joined(*parts: Column) -> Callable[[Summary], str]:
    """Return a function that joins the texts of columns with `+`."""
    return lambda row: " + ".join(each.text(row) for each in parts)


def term(heading: str, definition: str) -> Column:
    """Return a column of a table whose rows are made otherwise."""
    return Column(heading, definition, lambda _: "")


def headings(columns: Iterable[Column]) -> list[str]:
    """Return the headings of columns."""
    return [each.heading for each in columns]
