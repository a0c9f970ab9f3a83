"""Links inside the report, where each program and each lock has a page."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from lockwright.page.rows import Row
from markupsafe import Markup

from lockwright_lab.study.result_table import Table

STUDY, MACHINE, PROGRAM, LOCK = "study", "machine", "program", "lock"
"""The kinds of pages: about one machine and metric, one machine, one program, and one lock."""

BEST, HARMFUL, BETWEEN = "use", "avoid", ""
"""The advice on a lock."""

_PAGES = {"application": PROGRAM, "program": PROGRAM, "lock": LOCK, "row_beats_col": LOCK}
"""By the heading of a table's first column."""
_STYLES = {BEST: "close", HARMFUL: "incomplete"}


def target(kind: str, name: str) -> str:
    """Return the id of a page."""
    return f"{kind}/{name}".replace(" ", "_")


def where(kind: str, name: str) -> str:
    """Return the address of a page inside the report."""
    return "#" + quote(target(kind, name), safe="/")


def link(kind: str, name: str) -> Markup:
    """Return a name linked to its page."""
    return Markup('<a href="{}">{}</a>').format(where(kind, name), name)


def programs(names: Iterable[str]) -> Markup:
    """Return linked names of programs, separated by commas."""
    return Markup(", ").join(link(PROGRAM, name) for name in names)


def locks(names: Iterable[str]) -> Markup:
    """Return linked names of locks, separated by commas."""
    return Markup(", ").join(link(LOCK, name) for name in names)


def with_figures(kind: str, figures: Mapping[str, str]) -> Markup:
    """Return linked names with a figure in brackets after each, separated by commas."""
    return Markup(", ").join(
        Markup("{} ({})").format(link(kind, name), figure) for name, figure in figures.items()
    )


def rows(table: Table) -> list[Row]:
    """Return the rows of a table, with links to the pages of its applications and locks."""
    kind = _PAGES.get(table.heading, "")
    linked_rows = []
    for texts, values in zip(table.rows(), table.numbers(), strict=True):
        keys = ["" if value is None else str(value) for value in values.values()]
        address = where(kind, texts[0]) if kind and texts[0] != "all" else ""
        style = _STYLES.get(str(values.get("advice")), "")
        linked_rows.append(Row(list(zip(texts, keys, strict=True)), style, address))
    return linked_rows
