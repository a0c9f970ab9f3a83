"""The columns and notes of a comparison's tables."""

import shlex
import textwrap
from collections.abc import Sequence

from lockwright.base import numbers
from lockwright.compare.plan import Plan
from lockwright.experiment import Cell, Column, Summary
from lockwright.stats.near import TOLERANCE


def heading(plan: Plan, cell: Cell) -> str:
    """Return the title of a cell's table."""
    return cell.name or shlex.join(plan.command)


def columns(plan: Plan) -> list[Column]:
    """Return the columns of a table, whose headings have line breaks for narrow terminals."""
    return [
        Column(
            "  lock",
            "",
            lambda row: f"{row.mark or ' '} {row.contender}",
            lambda row: row.contender,
        ),
        Column(
            f"median\n({plan.unit})", "", lambda row: _median(plan, row), lambda row: row.median
        ),
        Column(
            "rel. sd",
            "standard deviation of the runs, in per cent of their mean",
            lambda row: "-" if row.spread is None else numbers.percent(row.spread, 1),
            lambda row: row.spread,
        ),
        Column(
            f"ratio to\n{plan.reference}",
            f"{ratio_definition(plan)}; above 1 is better than {plan.reference}",
            lambda row: _ratio(plan, row),
            lambda row: None if row.ratio is None else row.ratio.value,
        ),
        Column(
            "95 % CI",
            _interval_definition(plan),
            lambda row: _interval(plan, row),
            lambda row: None if row.ratio is None else row.ratio.low,
        ),
    ]


def _median(plan: Plan, row: Summary) -> str:
    """Return the median or, for a lock without a value, the reason."""
    if row.median is not None:
        return numbers.figure(row.median)
    if row.timeouts:
        return f">{row.limit or plan.timeout:g}" if plan.metric is None else "timed out"
    return "failed" if row.failures else "-"


def _ratio(plan: Plan, row: Summary) -> str:
    if row.contender == plan.reference:
        return "1" if row.values else "-"
    return "-" if row.ratio is None else numbers.ratio(row.ratio.value)


def _interval(plan: Plan, row: Summary) -> str:
    if row.contender == plan.reference or row.ratio is None:
        return "-"
    return numbers.interval(row.ratio.low, row.ratio.high)


def ratio_definition(plan: Plan) -> str:
    """Return the exact definition of the ratio."""
    what = "time" if plan.metric is None else "figure"
    above, below = f"the lock's {what}", f"{plan.reference}'s"
    if plan.lower_is_better:
        above, below = f"{plan.reference}'s {what}", "the lock's"
    return f"{above} divided by {below} of the same round, as the geometric mean over the rounds"


def _interval_definition(plan: Plan) -> str:
    if plan.budget is not None:
        text = "confidence interval of all ratios together, valid at any time"
        return f"{text}; if it contains 1, the difference may be chance"
    return (
        "confidence interval of the ratio; if it contains 1, the difference may be chance; with"
        " many locks the conclusion below asks for more, since one of them may exclude 1 by chance"
    )


def best(plan: Plan) -> str:
    """Return the meaning of `*`."""
    return "best median" if plan.budget is None else "best in the rounds that the locks share"


def legend(plan: Plan) -> list[tuple[str, str]]:
    """Return the meaning of the marks and columns, as (term, meaning)."""
    _, _, deviation, ratio, interval = columns(plan)
    return [
        ("*", f"{best(plan)}, of the locks that ended every run"),
        ("=", f"median within {numbers.percent(TOLERANCE)} of that of *"),
        (deviation.heading, deviation.definition),
        ("ratio", ratio.definition),
        (interval.heading, interval.definition),
    ]


def remarks(plan: Plan, row: Summary) -> str:
    """Return the problems of a lock's runs, in words; "" if there are none."""
    if row.fate:
        return row.fate
    parts = []
    if row.timeouts:
        runs = "run" if row.timeouts == 1 else "runs"
        text = f"{row.timeouts} {runs} killed after {plan.timeout:g} s (--timeout)"
        parts.append(f"{text}, then not run further" if row.gave_up else text)
    if row.failures:
        runs = "run" if row.failures == 1 else "runs"
        reason = textwrap.shorten(row.note, 120, placeholder="...")
        parts.append(f"{row.failures} {runs} failed ({reason})")
    if row.values and not row.complete:
        parts.append(f"median of {len(row.values)} of {row.wanted} runs")
    return "; ".join(parts)


def notes(plan: Plan, rows: Sequence[Summary]) -> list[str]:
    """Return the remarks on all rows, one line for all locks with the same remark."""
    locks_by_text: dict[str, list[str]] = {}
    for row in rows:
        if text := remarks(plan, row):
            locks_by_text.setdefault(text, []).append(row.contender)
    return [f"{', '.join(locks)}: {text}" for text, locks in locks_by_text.items()]
