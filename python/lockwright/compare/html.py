"""The report: one HTML file that needs nothing else, not even a network.

page/page.html holds its structure, page.css its looks, page.js draws the plots with plotly.js; what
it shares with other reports is in lockwright.page.
"""

import math
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from lockwright.base import numbers
from lockwright.compare import metered, table, verdict
from lockwright.compare.plan import AS_IT_IS
from lockwright.compare.report import Report
from lockwright.compare.stats import Summary
from lockwright.machine import provenance
from lockwright.machine.meters import FACTS
from lockwright.page import templates
from lockwright.page.rows import Row
from lockwright.preload.locks import BASELINE
from lockwright.run.record import FAILED, TIMEOUT, describe_status


class Card(NamedTuple):
    """The best lock at a number of threads, and what it gains. kind: class of the element. near:
    locks within 5 % of it."""

    kind: str
    where: str
    lock: str
    gain: str
    near: Sequence[str]


class Table(NamedTuple):
    """Its lines, and notes below."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """Return the whole file as text."""
    plan = report.comparison.plan
    return templates.fill(
        "compare/page/page.html",
        _data(report),
        title=report.title,
        plan=plan,
        report=report,
        measured=_measured(report),
        cards=[_card(report, summaries) for summaries in report.tables],
        tables=[
            *(_table(report, summaries) for summaries in report.tables),
            *(_metered(report, each) for each in report.meter_tables),
        ],
        ratio=table.quotient(plan),
        legend=dict([*table.legend(plan), *metered.legend(plan, report.meter_tables)]),
        warnings=[*report.remarks, *report.warnings],
        provenance=_provenance(report),
    )


def _measured(report: Report) -> str:
    plan = report.comparison.plan
    what = f"{plan.unit} from the program's output" if plan.metric else "wall time in seconds"
    better = "lower" if plan.lower_is_better else "higher"
    return f"Measured: {what} ({better} is better), {plan.how_often}."


def _card(report: Report, summaries: Sequence[Summary]) -> Card:
    best = verdict.winner(summaries)
    beats = best is not None
    if best is None:
        best = next((summary for summary in summaries if summary.mark == "*"), None)
    threads = summaries[0].threads
    where = "" if threads == AS_IT_IS else verdict.heading(report.comparison.plan, threads)
    if best is None:
        name, gain = "none", "no lock finished all of its runs"
    elif best.lock == BASELINE:
        name, gain = BASELINE, "the C library's own mutex"
    elif best.ratio is None:
        name, gain = best.lock, f"no ratio to {BASELINE}"
    else:
        name = best.lock
        gain = f"{numbers.ratio(best.ratio.value)} times as good as {BASELINE}"
        if best.ratio.low is not None:
            gain += f" ({numbers.interval(best.ratio.low, best.ratio.high)})"
        if not beats:
            gain += ", which may be chance"
    # The best median may be that of a lock whose runs vary too much to be sure of.
    what = "best median" if best is None or best.mark == "*" else "shown to be better"
    where = f"{where}: {what}" if where else what
    near = [summary.lock for summary in summaries if summary.mark == "="]
    return Card("card" if beats else "card alike", where, name, gain, near)


def _table(report: Report, summaries: Sequence[Summary]) -> Table:
    plan = report.comparison.plan
    threads = summaries[0].threads
    rows = []
    for summary in summaries:
        kind = {"*": "winner", "=": "close"}.get(summary.mark, "")
        cells = zip(table.cells(plan, summary), _keys(summary), strict=True)
        rows.append(Row(list(cells), kind if summary.complete else "incomplete"))
    title = "" if threads == AS_IT_IS else verdict.heading(plan, threads)
    return Table(title, table.columns(plan), rows, table.notes(plan, summaries))


def _metered(report: Report, one: metered.Table) -> Table:
    """Energy and counters at a number of threads."""
    rows = []
    for cells in one.rows:
        lock = cells[0]
        keys = (lock, *(repr(one.medians[lock].get(h, "")) for h in one.headings[1:]))
        rows.append(Row(list(zip(cells, keys, strict=True))))
    return Table(table.metered_heading(report.comparison.plan, one), one.headings, rows)


def _keys(summary: Summary) -> tuple[str, ...]:
    """What each column is sorted by; empty for a cell without a value."""
    ratio = summary.ratio
    numbers = (
        summary.median,
        summary.spread,
        ratio.value if ratio else None,
        ratio.low if ratio else None,
    )
    return summary.lock, *("" if number is None else repr(number) for number in numbers)


def _provenance(report: Report) -> dict[str, str]:
    comparison, plan = report.comparison, report.comparison.plan
    facts = {
        "started": comparison.started,
        "command": shlex.join(plan.command),
        "runs": f"{plan.how_often}, at most {plan.timeout:g} s each",
    }
    if plan.metric:
        facts["metric"] = f"{plan.metric} ({plan.unit})"
    if plan.prepare:
        facts["prepare"] = plan.prepare
    for library in plan.other_libraries:
        facts[library.name] = str(library.path)
    # What was read around the runs has tables and remarks of its own.
    known = {name: fact for name, fact in comparison.provenance.items() if name != FACTS}
    facts |= provenance.printable(known)
    probe = comparison.probe
    facts["mutexes"] = (
        f"{probe['mutexes']:,} taken {probe['acquisitions']:,} times in the first run"
    )
    return facts


def _data(report: Report) -> dict[str, Any]:
    """What page.js draws. Not a number and infinity do not occur: values are checked finite."""
    plan = report.comparison.plan
    panels = []
    for threads, summaries in zip(plan.threads, report.tables, strict=True):
        runs = [
            {
                "lock": run.lock,
                "round": run.round,
                "value": run.value,
                "outcome": run.outcome,
                "note": run.note or describe_status(run.status or 0),
                "others": run.others,
            }
            for run in report.records
            if run.threads == threads
        ]
        panels.append(
            {
                "label": "" if threads == AS_IT_IS else verdict.heading(plan, threads),
                "threads": threads,
                "runs": runs,
                "rows": [_point(summary) for summary in summaries],
            }
        )
    return {
        "baseline": BASELINE,
        "locks": list(plan.locks),
        "unit": plan.unit,
        "quantity": "wall time" if plan.metric is None else plan.unit,
        "lowerIsBetter": plan.lower_is_better,
        "runs": plan.runs,
        "panels": panels,
    }


def _point(summary: Summary) -> dict[str, Any]:
    ratio = summary.ratio
    whole = ratio is not None and all(
        math.isfinite(x) for x in (ratio.value, ratio.low or 1, ratio.high or 1)
    )
    missing = None
    if summary.median is None:
        missing = TIMEOUT if summary.timeouts else FAILED
    return {
        "lock": summary.lock,
        "median": summary.median,
        "missing": missing,
        "spread": summary.spread,
        "mark": summary.mark,
        "ratio": [ratio.value, ratio.low, ratio.high] if ratio is not None and whole else None,
    }
