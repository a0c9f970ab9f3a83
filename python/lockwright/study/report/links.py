"""Links inside the report: each program and each lock has a page, found by its name."""

from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from lockwright.study.report.figure import LOCK, PROGRAM

STUDY, MACHINE = "study", "machine"
"""Pages about one machine and metric, and about one machine."""


def target(kind: str, name: str) -> str:
    """The id of a page."""
    return f"{kind}/{name}".replace(" ", "_")


def where(kind: str, name: str) -> str:
    """The address of a page inside the report."""
    return "#" + quote(target(kind, name), safe="/")


def link(kind: str, name: str) -> str:
    """A name that leads to its page."""
    return f'<a href="{where(kind, name)}">{escape(name)}</a>'


def programs(names: Iterable[str]) -> str:
    """Names of programs, separated by commas."""
    return ", ".join(link(PROGRAM, name) for name in names)


def locks(names: Iterable[str]) -> str:
    """Names of locks, separated by commas."""
    return ", ".join(link(LOCK, name) for name in names)
