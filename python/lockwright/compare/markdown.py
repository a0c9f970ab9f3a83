"""The summary of a comparison in GitHub's Markdown, for a pull request."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lockwright.compare import table
from lockwright.compare.report import Report
from lockwright.compare.verdict import heading
from lockwright.machine import provenance

if TYPE_CHECKING:
    from lockwright.compare.baseline import Change


def render(report: Report, change: "Change | None") -> str:
    """Return the summary; the first line after the title is the conclusion."""
    plan = report.comparison.plan
    parts = [f"### {_escape(report.title)}"]
    if change is not None:
        parts += [f"**{_escape(change.sentence())}**"]
    parts += [_escape(report.verdict.sentence)]
    if change is not None:
        parts += [_table(table.change_columns(plan, change), map(table.change_cells, change.rows))]
        parts += [_list("Other conditions: ", change.conditions)]
    columns = [column.replace("\n", " ") for column in table.columns(plan)]
    for summaries in report.tables:
        parts += [f"**{_escape(heading(plan, summaries[0].threads))}**"]
        parts += [_table(columns, (table.cells(plan, summary) for summary in summaries))]
        parts += [_list("", table.notes(plan, summaries))]
    parts += [_list("Warning: ", report.warnings)]
    facts = provenance.printable(report.comparison.provenance)
    machine = (f"{name}: {facts[name]}" for name in ("cpu", "cpus", "libc") if name in facts)
    parts += [_escape("; ".join([plan.runs_description, *machine, "above 1 is better"]))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(
        f"| {' | '.join(text if index == 1 else _escape(text) for text in line)} |"
        for index, line in enumerate(lines)
    )


def _list(label: str, texts: Iterable[str]) -> str:
    return "\n".join(f"- {_escape(label + text)}" for text in texts)


def _escape(text: str) -> str:
    """Return text that Markdown shows unchanged, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@$])", r"\\\1", " ".join(text.split()))
