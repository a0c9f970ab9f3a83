"""The tables that a comparison ends with on a terminal, and their cells for the report too."""

from collections.abc import Sequence
from textwrap import shorten

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockwright.compare.plan import Plan
from lockwright.compare.stats import Summary
from lockwright.compare.verdict import Verdict, heading
from lockwright.locks import BASELINE

COLUMNS = ("lock", "median", "rel. sd", f"ratio to {BASELINE}", "95 % CI", "remarks")
LEGEND = (
    "* best median   = within 5 % of it   rel. sd: standard deviation over mean   "
    f"ratio: above 1 is better than {BASELINE}, geometric mean of rounds"
)


def figure(value: float) -> str:
    """A measured value with four significant digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def cells(plan: Plan, summary: Summary) -> tuple[str, ...]:
    """One row, a text per column. Time-outs and failures are said in words, never left out."""
    name = f"{summary.mark or ' '} {summary.lock}"
    if summary.median is not None:
        median = f"{figure(summary.median)} {plan.unit}"
    elif summary.timeouts and plan.metric is None:
        median = f">{plan.timeout:g} s"
    else:
        median = "-"
    variation = "-" if summary.spread is None else f"{summary.spread:.1%}"
    ratio = interval = "-"
    if summary.ratio is not None and summary.lock != BASELINE:
        ratio = f"{summary.ratio.value:.3g}"
        if summary.ratio.low is not None and summary.ratio.high is not None:
            interval = f"{summary.ratio.low:.3g} to {summary.ratio.high:.3g}"
    elif summary.lock == BASELINE and summary.values:
        ratio = "1"
    return name, median, variation, ratio, interval, remarks(plan, summary)


def remarks(plan: Plan, summary: Summary) -> str:
    """What went wrong, in words; empty if nothing did."""
    parts = []
    if summary.timeouts:
        runs = "run" if summary.timeouts == 1 else "runs"
        text = f"{summary.timeouts} {runs} took more than {plan.timeout:g} s"
        parts.append(f"{text}, not run further" if summary.gave_up else text)
    if summary.failures:
        runs = "run" if summary.failures == 1 else "runs"
        parts.append(
            f"{summary.failures} {runs} failed ({shorten(summary.note, 60, placeholder='...')})"
        )
    if summary.values and not summary.complete:
        parts.append(f"median of {len(summary.values)} of {summary.wanted}")
    return "; ".join(parts)


def show(
    console: Console,
    plan: Plan,
    tables: Sequence[Sequence[Summary]],
    warnings: Sequence[str],
    verdict: Verdict,
) -> None:
    """Prints a table per number of threads, the warnings, the verdict."""
    for summaries in tables:
        table = Table(
            title=heading(plan, summaries[0].threads),
            title_justify="left",
            title_style="bold",
            box=None,
            pad_edge=False,
            header_style="dim",
        )
        rows = [cells(plan, summary) for summary in summaries]
        # A column of remarks only where there are some: most tables then fit 80 columns.
        shown = len(COLUMNS) if any(row[-1] for row in rows) else len(COLUMNS) - 1
        for place, column in enumerate(COLUMNS[:shown]):
            right = 0 < place < len(COLUMNS) - 1
            table.add_column(
                f"  {column}" if place == 0 else column,
                justify="right" if right else "left",
                no_wrap=place < len(COLUMNS) - 1,
            )
        for summary, row in zip(summaries, rows, strict=True):
            style = {"*": "bold green", "=": "green"}.get(summary.mark, "")
            if not summary.complete:
                style = "yellow"
            table.add_row(*(Text(cell) for cell in row[:shown]), style=style)
        console.print(table)
        console.print()
    console.print(LEGEND, style="dim")
    for warning in warnings:
        console.print(Text.assemble(("Warning: ", "yellow"), warning), soft_wrap=True)
    line = verdict.sentence
    if verdict.command:
        line += f" Use it: {verdict.command}"
    console.print()
    console.print(line, style="bold", soft_wrap=True)
