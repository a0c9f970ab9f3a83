"""The tables of a comparison on a terminal, and their texts for the report."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockwright.base import numbers
from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.compare import metered
from lockwright.compare.plan import Plan
from lockwright.compare.stats import Summary
from lockwright.compare.verdict import Verdict, heading
from lockwright.compare.warnings import at_threads
from lockwright.stats.near import TOLERANCE

if TYPE_CHECKING:
    from lockwright.compare.baseline import Change, Row
    from lockwright.compare.report import Report


def columns(plan: Plan) -> tuple[str, ...]:
    """Return the headings of the table, with line breaks for narrow terminals."""
    return "lock", f"median\n({plan.unit})", "rel. sd", f"ratio to\n{plan.reference}", "95 % CI"


def cells(plan: Plan, summary: Summary) -> tuple[str, ...]:
    """Return a row, a text per column. For a lock without a value, the median's column has the
    reason."""
    name = f"{summary.mark or ' '} {summary.lock}"
    if summary.median is not None:
        median = numbers.figure(summary.median)
    elif summary.timeouts:
        limit = summary.limit or plan.timeout
        median = f">{limit:g}" if plan.metric is None else "timed out"
    else:
        median = "failed" if summary.failures else "-"
    variation = "-" if summary.spread is None else numbers.percent(summary.spread, 1)
    ratio = interval = "-"
    if summary.ratio is not None and summary.lock != plan.reference:
        ratio = numbers.ratio(summary.ratio.value)
        interval = numbers.interval(summary.ratio.low, summary.ratio.high)
    elif summary.lock == plan.reference and summary.values:
        ratio = "1"
    return name, median, variation, ratio, interval


def remarks(plan: Plan, summary: Summary) -> str:
    """Return the problems of a lock's runs, in words; "" if there are none."""
    if summary.fate:
        return summary.fate
    parts = []
    if summary.timeouts:
        runs = "run" if summary.timeouts == 1 else "runs"
        text = f"{summary.timeouts} {runs} killed after {plan.timeout:g} s (--timeout)"
        parts.append(f"{text}, then not run further" if summary.gave_up else text)
    if summary.failures:
        runs = "run" if summary.failures == 1 else "runs"
        reason = textwrap.shorten(summary.note, 120, placeholder="...")
        parts.append(f"{summary.failures} {runs} failed ({reason})")
    if summary.values and not summary.complete:
        parts.append(f"median of {len(summary.values)} of {summary.wanted} runs")
    return "; ".join(parts)


def notes(plan: Plan, summaries: Sequence[Summary]) -> list[str]:
    """Return the remarks on all rows, one line for all locks with the same remark."""
    locks_by_text: dict[str, list[str]] = {}
    for summary in summaries:
        if text := remarks(plan, summary):
            locks_by_text.setdefault(text, []).append(summary.lock)
    return [f"{', '.join(locks)}: {text}" for text, locks in locks_by_text.items()]


def ratio_definition(plan: Plan) -> str:
    """Return the exact definition of the ratio."""
    what = "time" if plan.metric is None else "figure"
    above, below = f"the lock's {what}", f"{plan.reference}'s"
    if plan.lower_is_better:
        above, below = f"{plan.reference}'s {what}", "the lock's"
    return f"{above} divided by {below} of the same round, as the geometric mean over the rounds"


def best(plan: Plan) -> str:
    """Return the meaning of `*`."""
    return "best median" if plan.budget is None else "best in the rounds that the locks share"


def legend(plan: Plan) -> list[tuple[str, str]]:
    """Return the meaning of the marks and columns, as (term, meaning)."""
    return [
        ("*", f"{best(plan)}, of the locks that ended every run"),
        ("=", f"median within {numbers.percent(TOLERANCE)} of that of *"),
        ("rel. sd", "standard deviation of the runs, in per cent of their mean"),
        ("ratio", f"{ratio_definition(plan)}; above 1 is better than {plan.reference}"),
        ("95 % CI", _interval(plan)),
    ]


def _interval(plan: Plan) -> str:
    if plan.budget is not None:
        text = "confidence interval of all ratios together, valid at any time"
        return f"{text}; if it contains 1, the difference may be chance"
    return (
        "confidence interval of the ratio; if it contains 1, the difference may be chance; with"
        " many locks the conclusion below asks for more, since one of them may exclude 1 by chance"
    )


def show(console: Console, report: "Report") -> None:
    """Print a table per number of threads, each with notes, then legend and warnings."""
    plan = report.comparison.plan
    for summaries in report.tables:
        print_wrapped(console, "", heading(plan, summaries[0].threads), "bold")
        console.print(summary_table(plan, summaries, not console.is_terminal))
        for note in notes(plan, summaries):
            print_wrapped(console, "  ", note, "yellow")
        console.print()
    for measured in report.meter_tables:
        print_wrapped(console, "", metered_heading(plan, measured), "bold")
        console.print(_grid(measured))
        console.print()
    print_terms(console, [*legend(plan), *metered.legend(plan, report.meter_tables)])
    if report.warnings or report.remarks:
        console.print()
    for remark in report.remarks:
        print_wrapped(console, "", remark, "")
    for warning in report.warnings:
        print_wrapped(console, "Warning: ", warning, "yellow")


def metered_heading(plan: Plan, table: metered.Table) -> str:
    """Return the title of the table of energy and counters for a number of threads."""
    return f"energy and counters, {heading(plan, table.threads)}, medians"


def _grid(table: metered.Table) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, column in enumerate(table.headings):
        grid.add_column(column, justify="right" if index else "left")
    for row in table.rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def print_verdict(console: Console, verdict: Verdict, use: str | None) -> None:
    """Print the verdict, and the shell line to run next."""
    console.print()
    print_wrapped(console, "", verdict.sentence, "bold")
    if use:
        console.print(verdict.heading, style="bold")
        # One line of any length, so that it can be copied.
        console.print(f"  {use}", soft_wrap=True)


def change_columns(plan: Plan, change: "Change") -> tuple[str, ...]:
    """Return the headings of the table against an earlier comparison."""
    interval = f"{numbers.percent(change.confidence, 1)} CI"
    return "lock", f"before ({plan.unit})", f"now ({plan.unit})", "ratio to before", interval


def change_cells(row: "Row") -> tuple[str, ...]:
    """Return a row of this table, a text per column."""
    return (
        f"{row.lock}{at_threads(row.threads)}",
        numbers.figure(row.before),
        "-" if row.now is None else numbers.figure(row.now),
        "-" if row.ratio is None else numbers.ratio(row.ratio),
        numbers.interval(row.low, row.high),
    )


def show_change(console: Console, plan: Plan, change: "Change") -> None:
    """Print the table against an earlier comparison, and what differs between both."""
    console.print()
    print_wrapped(console, "", f"against {change.earlier.path}, {change.earlier.started}", "bold")
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, column in enumerate(change_columns(plan, change)):
        grid.add_column(column, justify="right" if index else "left")
    for row in change.rows:
        grid.add_row(*map(Text, change_cells(row)), style="yellow" if row.is_worse else "")
    console.print(grid)
    for condition in change.conditions:
        print_wrapped(console, "Other conditions: ", condition, "yellow")


def print_change(console: Console, change: "Change") -> None:
    """Print the conclusion against an earlier comparison."""
    print_wrapped(console, "", change.sentence(), "bold")


def summary_table(plan: Plan, summaries: Sequence[Summary], is_one_line: bool) -> Table:
    """Return the table of a number of threads. is_one_line: whether headings are not divided
    into lines."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    last = len(columns(plan)) - 1
    for index, column in enumerate(columns(plan)):
        text = column.replace("\n", " ") if is_one_line else column
        if index == 0:
            table.add_column(f"  {text}", no_wrap=True)
        else:
            # A narrow terminal wraps the interval instead of cutting it.
            table.add_column(text, justify="right", no_wrap=index != last)
    for summary in summaries:
        style = {"*": "bold green", "=": "green"}.get(summary.mark, "")
        if not summary.complete:
            style = "yellow"
        table.add_row(*(Text(cell) for cell in cells(plan, summary)), style=style)
    return table
