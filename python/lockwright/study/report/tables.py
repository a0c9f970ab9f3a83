"""The tables of an analysis on a page."""

from html import escape

from lockwright.page.table import grid, row
from lockwright.study.report import links
from lockwright.study.report.figure import LOCK, PROGRAM
from lockwright.study.table import Table


def of_study(table: Table) -> str:
    """A table of the analysis, with what its cells mean; sorted by a click."""
    kind = {"application": PROGRAM, "lock": LOCK, "row_beats_col": LOCK}.get(table.heading, "")
    rows = []
    for texts, values in zip(table.rows(), table.numbers(), strict=True):
        keys = ["" if value is None else str(value) for value in values.values()]
        link = links.where(kind, texts[0]) if kind and texts[0] != "all" else ""
        rows.append(row(zip(texts, keys, strict=True), link=link))
    return f'<p class="quiet">{escape(table.meaning)}.</p>' + grid(
        [column.replace("_", " ") for column in table.columns()], rows
    )
