"""The HTML report on a joint search."""

import shlex
from collections.abc import Sequence

from lockwright.base import numbers
from lockwright.compare import table
from lockwright.compare.stats import Summary
from lockwright.machine import provenance
from lockwright.page import templates
from lockwright.page.rows import Row
from lockwright.preload.locks import BASELINE
from lockwright.tune.joint.report import JointReport
from lockwright.tune.joint.show import HEADINGS, legend, worth_columns, worth_rows
from lockwright.tune.joint.verdict import Ratio
from lockwright.tune.preparation import FACTS


def render(report: JointReport) -> str:
    """Return the file as text."""
    plan = report.first.plan
    base = report.search.base.lock if report.search else BASELINE
    known = {k: v for k, v in report.first.provenance.items() if k != FACTS and k != "joint"}
    facts = {"started": report.first.started, "command": shlex.join(plan.command)}
    alone = {each.part: _points(each.alone) for each in report.worth if _points(each.alone)}
    beside = {each.part: _points(each.beside) for each in report.worth if _points(each.beside)}
    return templates.fill(
        "tune/joint/page/page.html",
        {
            "locks": [each.part for each in report.worth],
            "baseline": "",
            "alone": alone,
            "beside": {} if base == BASELINE else beside,
            "aloneTitle": f"ratio to {BASELINE}",
            "besideTitle": f"ratio to {base} alone",
        },
        title=report.title,
        command=plan.command,
        report=report,
        base=base,
        has_lock=base != BASELINE,
        baseline=BASELINE,
        columns=[each.replace("\n", " ") for each in worth_columns(report)],
        rows=[Row([(cell, cell) for cell in row]) for row in worth_rows(report)],
        races=[
            (
                HEADINGS[race.result.stage.name],
                [each.replace("\n", " ") for each in table.columns(race.comparison.plan)],
                _rows(report, index),
                table.notes(race.comparison.plan, race.result.outcome.rows),
            )
            for index, race in enumerate(report.races)
        ],
        legend=dict(legend(report)),
        provenance=facts | provenance.printable(known),
    )


def _points(ratio: Ratio | None) -> list[float | None] | None:
    """Return the points of a bar; an interval that says nothing is not drawn."""
    if ratio is None:
        return None
    value, low, high = ratio
    if low is None or high is None or low < numbers.LEAST or high > numbers.MOST:
        return [value, None, None]
    return [value, low, high]


def _rows(report: JointReport, index: int) -> Sequence[Row]:
    race = report.races[index]
    plan = race.comparison.plan
    return [
        Row(
            list(zip(table.cells(plan, summary), _keys(summary), strict=True)),
            {"*": "winner", "=": "close"}.get(summary.mark, "")
            if summary.complete
            else "incomplete",
        )
        for summary in race.result.outcome.rows
    ]


def _keys(summary: Summary) -> tuple[str, ...]:
    ratio = summary.ratio
    values = (summary.median, summary.spread, ratio and ratio.value, ratio and ratio.low)
    return summary.lock, *("" if value is None else repr(value) for value in values)
