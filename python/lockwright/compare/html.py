"""The HTML report, one file that needs no other file and no network.

The folder page has its own parts, lockwright.page the common parts of all reports.
"""

import math
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from lockwright.base import numbers
from lockwright.compare import metered, table, verdict
from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.report import Report
from lockwright.compare.stats import Summary
from lockwright.machine import provenance
from lockwright.machine.meters import FACTS
from lockwright.page import templates
from lockwright.page.rows import Row
from lockwright.preload.locks import BASELINE
from lockwright.run.record import FAILED, TIMEOUT, describe_status


class Card(NamedTuple):
    """The best lock at a number of threads, and its gain. kind: CSS class; near: locks within 5 %
    of it."""

    kind: str
    where: str
    lock: str
    gain: str
    near: Sequence[str]


class Table(NamedTuple):
    """The rows of a table, and notes below it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()


def render(report: Report) -> str:
    """Return the file as text."""
    plan = report.comparison.plan
    return templates.fill(
        "compare/page/page.html",
        _data(report),
        title=report.title,
        plan=plan,
        report=report,
        measured=_quantity_text(report),
        cards=[
            _card(report, summaries)
            for summaries in report.tables
            if not report.comparison.has_fixed_time
        ],
        tables=[
            *(_table(report, summaries) for summaries in report.tables),
            *(_metered(report, measured) for measured in report.meter_tables),
        ],
        ratio=table.ratio_definition(plan),
        legend=dict([*table.legend(plan), *metered.legend(plan, report.meter_tables)]),
        warnings=[*report.remarks, *report.warnings],
        provenance=_provenance(report),
    )


def _quantity_text(report: Report) -> str:
    plan = report.comparison.plan
    what = f"{plan.unit} from the program's output" if plan.metric else "wall time in seconds"
    better = "lower" if plan.lower_is_better else "higher"
    return f"Measured: {what} ({better} is better), {plan.runs_description}."


def _card(report: Report, summaries: Sequence[Summary]) -> Card:
    best = verdict.winner(summaries)
    beats = best is not None
    if best is None:
        best = next((summary for summary in summaries if summary.mark == "*"), None)
    threads = summaries[0].threads
    where = "" if threads == UNSPECIFIED else verdict.heading(report.comparison.plan, threads)
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
    # The best median may be of a lock whose runs vary too much for a conclusion.
    meaning = table.best(report.comparison.plan)
    what = meaning if best is None or best.mark == "*" else "shown to be better"
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
    title = "" if threads == UNSPECIFIED else verdict.heading(plan, threads)
    return Table(title, table.columns(plan), rows, table.notes(plan, summaries))


def _metered(report: Report, measured: metered.Table) -> Table:
    """Return the table of energy and counters at a number of threads."""
    rows = []
    for cells in measured.rows:
        medians = measured.medians[cells[0]]
        keys = (cells[0], *(repr(medians.get(heading, "")) for heading in measured.headings[1:]))
        rows.append(Row(list(zip(cells, keys, strict=True))))
    return Table(table.metered_heading(report.comparison.plan, measured), measured.headings, rows)


def _keys(summary: Summary) -> tuple[str, ...]:
    """Return the sort key of each column; empty for a cell without a value."""
    ratio = summary.ratio
    ratio_keys = (ratio.value, ratio.low) if ratio else (None, None)
    numbers = (summary.median, summary.spread, *ratio_keys)
    return summary.lock, *("" if number is None else repr(number) for number in numbers)


def _provenance(report: Report) -> dict[str, str]:
    comparison, plan = report.comparison, report.comparison.plan
    facts = {
        "started": comparison.started,
        "command": shlex.join(plan.command),
        "runs": f"{plan.runs_description}, at most {plan.timeout:g} s each",
    }
    if plan.metric:
        facts["metric"] = f"{plan.metric} ({plan.unit})"
    if plan.prepare:
        facts["prepare"] = plan.prepare
    for library in plan.other_libraries:
        facts[library.name] = str(library.path)
    # Energy and counters have their own tables and remarks.
    known = {name: fact for name, fact in comparison.provenance.items() if name != FACTS}
    facts |= provenance.printable(known)
    probe = comparison.probe
    facts["mutexes"] = (
        f"{probe['mutexes']:,} taken {probe['acquisitions']:,} times in the first run"
    )
    return facts


def _data(report: Report) -> dict[str, Any]:
    """Return the data that page.js draws. All values are finite."""
    plan = report.comparison.plan
    panels = []
    for summaries in report.tables:
        threads = summaries[0].threads
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
                "label": "" if threads == UNSPECIFIED else verdict.heading(plan, threads),
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
    interval = [ratio.value, ratio.low, ratio.high] if ratio is not None else []
    missing = None
    if summary.median is None:
        missing = TIMEOUT if summary.timeouts else FAILED
    return {
        "lock": summary.lock,
        "median": summary.median,
        "missing": missing,
        "spread": summary.spread,
        "mark": summary.mark,
        "ratio": interval if ratio and all(math.isfinite(x or 1) for x in interval) else None,
    }
