"""The report: one HTML file that needs nothing else, not even a network.

page/page.html holds its structure, page.css its looks, page.js draws the plots with plotly.js; what
it shares with other reports is in lockwright.page.
"""

import math
import shlex
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from lockwright.base import numbers
from lockwright.compare import metered, table, verdict
from lockwright.compare.plan import AS_IT_IS
from lockwright.compare.report import Report
from lockwright.compare.stats import Summary
from lockwright.machine.finding import ABSENT, WARN, Finding
from lockwright.machine.meters import FACTS
from lockwright.machine.provenance import FINDINGS
from lockwright.page import assemble, lists
from lockwright.page.table import grid, row
from lockwright.preload.locks import BASELINE
from lockwright.run.record import FAILED, TIMEOUT, describe_status

_PAGE = Path(__file__).with_name("page")


def render(report: Report) -> str:
    """The whole file as text."""
    plan = report.comparison.plan
    parts = {
        "title": escape(report.title),
        "command": escape(shlex.join(plan.command)),
        "measured": escape(_measured(report)),
        "verdict": escape(report.verdict.sentence),
        "use": _use(report.verdict.command),
        "winners": "".join(_winner(report, summaries) for summaries in report.tables),
        "tables": "".join(_table(report, summaries) for summaries in report.tables)
        + "".join(_metered(report, each) for each in report.meter_tables),
        "ratio": escape(table.quotient(plan)),
        "legend": lists.terms(
            dict([*table.legend(plan), *metered.legend(plan, report.meter_tables)]), "legend"
        ),
        "warnings": lists.points([*report.remarks, *report.warnings]),
        "provenance": lists.terms(_provenance(report)),
    }
    return assemble.fill(_PAGE, parts, _data(report), [assemble.CHIPS])


def _measured(report: Report) -> str:
    plan = report.comparison.plan
    what = f"{plan.unit} from the program's output" if plan.metric else "wall time in seconds"
    better = "lower" if plan.lower_is_better else "higher"
    return f"Measured: {what} ({better} is better), {plan.how_often}."


def _use(command: str | None) -> str:
    if command is None:
        return ""
    return f'<p class="use">Use it: <code>{escape(command)}</code></p>'


def _winner(report: Report, summaries: Iterable[Summary]) -> str:
    """One card: the best lock at a number of threads, and what it gains."""
    summaries = list(summaries)
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
    also = f'<div class="near">within 5 %: {escape(", ".join(near))}</div>' if near else ""
    kind = "card" if beats else "card alike"
    return (
        f'<div class="{kind}"><div class="where">{escape(where)}</div>'
        f'<div class="best">{escape(name)}</div><div class="gain">{escape(gain)}</div>{also}</div>'
    )


def _table(report: Report, summaries: Iterable[Summary]) -> str:
    summaries = list(summaries)
    plan = report.comparison.plan
    threads = summaries[0].threads
    caption = "" if threads == AS_IT_IS else f"<h3>{escape(verdict.heading(plan, threads))}</h3>"
    rows = []
    for summary in summaries:
        kind = {"*": "winner", "=": "close"}.get(summary.mark, "")
        kind = kind if summary.complete else "incomplete"
        cells = zip(table.cells(plan, summary), _keys(summary), strict=True)
        rows.append(row(cells, kind))
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes(plan, summaries))
    return (
        caption
        + grid(table.columns(plan), rows)
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
    )


def _metered(report: Report, one: metered.Table) -> str:
    """Energy and counters at a number of threads."""
    rows = []
    for cells in one.rows:
        lock = cells[0]
        keys = (lock, *(repr(one.medians[lock].get(h, "")) for h in one.headings[1:]))
        rows.append(row(zip(cells, keys, strict=True)))
    title = table.metered_heading(report.comparison.plan, one)
    return f"<h3>{escape(title)}</h3>{grid(one.headings, rows)}"


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
    for peer in plan.peers:
        facts[peer.name] = str(peer.path)
    known = dict(comparison.provenance)
    findings = [Finding(**each) for each in known.pop(FINDINGS, [])]
    # What was read around the runs has tables and remarks of its own.
    known.pop(FACTS, None)
    facts |= {name: str(value) for name, value in known.items()}
    for level in (WARN, ABSENT):
        named = [f"{each.name} ({each.found})" for each in findings if each.level == level]
        if named:
            facts[f"lockwright doctor: {level}"] = "; ".join(named)
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
