"""Links inside the report: each program and each lock has a page, found by its name."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from markupsafe import Markup

from lockwright.page.rows import Row
from lockwright.study.report.plots import LOCK, PROGRAM
from lockwright.study.result_table import Table

STUDY, MACHINE = "study", "machine"
"""Pages about one machine and metric, and about one machine."""


def target(kind: str, name: str) -> str:
    """The id of a page."""
    return f"{kind}/{name}".replace(" ", "_")


def where(kind: str, name: str) -> str:
    """The address of a page inside the report."""
    return "#" + quote(target(kind, name), safe="/")


def link(kind: str, name: str) -> Markup:
    """A name that leads to its page."""
    return Markup('<a href="{}">{}</a>').format(where(kind, name), name)


def programs(names: Iterable[str]) -> Markup:
    """Names of programs, separated by commas."""
    return Markup(", ").join(link(PROGRAM, name) for name in names)


def locks(names: Iterable[str]) -> Markup:
    """Names of locks, separated by commas."""
    return Markup(", ").join(link(LOCK, name) for name in names)


def with_figures(kind: str, figures: Mapping[str, str]) -> Markup:
    """Names with a figure in brackets after each, separated by commas."""
    return Markup(", ").join(
        Markup("{} ({})").format(link(kind, name), figure) for name, figure in figures.items()
    )


def rows(table: Table) -> list[Row]:
    """The lines of a table of the analysis; its applications and locks lead to their pages."""
    kind = {"application": PROGRAM, "lock": LOCK, "row_beats_col": LOCK}.get(table.heading, "")
    found = []
    for texts, values in zip(table.rows(), table.numbers(), strict=True):
        keys = ["" if value is None else str(value) for value in values.values()]
        address = where(kind, texts[0]) if kind and texts[0] != "all" else ""
        found.append(Row(list(zip(texts, keys, strict=True)), link=address))
    return found
