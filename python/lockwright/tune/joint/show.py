"""The report on a joint search as text in a terminal."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockwright.base import numbers
from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.compare import table
from lockwright.preload.locks import BASELINE
from lockwright.tune.joint.report import JointReport
from lockwright.tune.joint.search import LOCKS, PAIRS, PROOF, SINGLES
from lockwright.tune.joint.verdict import Ratio

HEADINGS = {
    LOCKS: "locks alone",
    SINGLES: "the best lock with one setting each",
    PAIRS: "pairs of settings, and other locks",
    PROOF: "proof: the best combinations, their parts, and locks alone, in new runs",
}
"""The titles of the tables of the races."""


def worth_columns(report: JointReport) -> tuple[str, ...]:
    """Return the headings of the table of parts."""
    alone = f"alone: ratio\nto {BASELINE}"
    base = report.search.base.lock if report.search else BASELINE
    if base == BASELINE:
        return "part", alone, "95 % CI", "race"
    return "part", alone, "95 % CI", f"with {base}:\nratio to it alone", "95 % CI", "race"


def worth_rows(report: JointReport) -> list[tuple[str, ...]]:
    """Return the rows of this table."""
    is_short = len(worth_columns(report)) == 4
    return [
        (each.part, *_cells(each.alone), *([] if is_short else _cells(each.beside)), each.source)
        for each in report.worth
    ]


def _cells(ratio: Ratio | None) -> Sequence[str]:
    return ("-", "-") if ratio is None else (numbers.ratio(ratio[0]), numbers.interval(*ratio[1:]))


def legend(report: JointReport) -> list[tuple[str, str]]:
    """Return the meaning of the marks and columns; the heading of a ratio names its reference."""
    return table.legend(replace(report.first.plan, reference="the reference"))


def show(console: Console, report: JointReport) -> None:
    """Print the table of each race, what was not tried, the worth of each part, and warnings."""
    for race in report.races:
        plan, rows = race.comparison.plan, race.result.outcome.rows
        print_wrapped(console, "", HEADINGS[race.result.stage.name], "bold")
        console.print(table.summary_table(plan, rows, not console.is_terminal))
        for note in table.notes(plan, rows):
            print_wrapped(console, "  ", note, "yellow")
        console.print()
    if report.left_out:
        print_wrapped(console, "", "not tried", "bold")
        for line in report.left_out:
            print_wrapped(console, "  ", line, "")
        console.print()
    if report.worth:
        print_wrapped(console, "", "what each part is worth", "bold")
        console.print(_worth_table(report, not console.is_terminal))
        console.print()
    print_terms(console, legend(report))
    if report.warnings:
        console.print()
    for warning in report.warnings:
        print_wrapped(console, "Warning: ", warning, "yellow")


def _worth_table(report: JointReport, is_one_line: bool) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, column in enumerate(worth_columns(report)):
        text = column.replace("\n", " ") if is_one_line else column
        grid.add_column(text, justify="right" if index else "left")
    for row in worth_rows(report):
        grid.add_row(*map(Text, row))
    return grid


def print_verdict(console: Console, report: JointReport, use: str) -> None:
    """Print the sentence and the command to use. use: that command."""
    table.print_verdict(console, report.verdict, use)
    if report.instead:
        console.print("Or without Lockwright:", style="bold")
        console.print(f"  {report.instead}", soft_wrap=True)
