"""The summary of a comparison in GitHub's Markdown, for a pull request."""

import re
from collections.abc import Iterable, Sequence

from lockwright.compare.plan import Plan
from lockwright.experiment.report import Grid, Report
from lockwright.machine import provenance


def render(plan: Plan, report: Report) -> str:
    """Return the summary; the first line after the title is the conclusion, of the change against
    an earlier comparison if there is one."""
    parts = [f"### {_escape(report.title)}"]
    if report.last_word:
        parts += [f"**{_escape(report.last_word)}**"]
    parts += [_escape(report.conclusion)]
    for each in report.appendix:
        parts += [_table(each), _list("", each.notes)]
    for each in report.grids:
        parts += [f"**{_escape(each.title)}**", _table(each), _list("", each.notes)]
    parts += [_list("Warning: ", report.warnings)]
    facts = provenance.printable(report.facts)
    machine = (f"{name}: {facts[name]}" for name in ("cpu", "cpus", "libc") if name in facts)
    parts += [_escape("; ".join([plan.runs_description, *machine, "above 1 is better"]))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(grid: Grid) -> str:
    lines: list[Sequence[str]] = [grid.headings, ["---", *["---:"] * (len(grid.headings) - 1)]]
    lines += [[text for text, _ in row.cells] for row in grid.rows]
    return "\n".join(
        f"| {' | '.join(text if index == 1 else _escape(text) for text in line)} |"
        for index, line in enumerate(lines)
    )


def _list(label: str, texts: Iterable[str]) -> str:
    return "\n".join(f"- {_escape(label + text)}" for text in texts)


def _escape(text: str) -> str:
    """Return text that Markdown shows unchanged, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@$])", r"\\\1", " ".join(text.split()))
