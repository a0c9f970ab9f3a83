"""A report as text in a terminal, or in a pipe."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockwright.base.terminal import print_terms, print_wrapped
from lockwright.experiment.report import BEST, INCOMPLETE, NEAR, Grid, Report

_STYLES = {BEST: "bold green", NEAR: "green", INCOMPLETE: "yellow"}


def show(console: Console, report: Report) -> None:
    """Print all but the conclusion."""
    for each in report.grids:
        print_grid(console, each)
        console.print()
    if report.experiment.help:
        print_wrapped(console, "", f"What each column means: {report.experiment.help}", "dim")
    elif report.legend and report.grids:
        print_terms(console, report.legend)
    if report.warnings or report.remarks or report.failures:
        console.print()
    for remark in report.remarks:
        print_wrapped(console, "", remark, "")
    for warning in report.warnings:
        print_wrapped(console, "Warning: ", warning, "yellow")
    for failure in report.failures:
        print_wrapped(console, "Failed: ", failure, "yellow")
    for each in report.appendix:
        console.print()
        print_grid(console, each)


def print_grid(console: Console, grid: Grid) -> None:
    """Print a table with its title and notes."""
    if grid.title:
        print_wrapped(console, "", grid.title, "bold")
    console.print(_table(grid, not console.is_terminal))
    for note in grid.notes:
        print_wrapped(console, "  ", note, "yellow")


def conclude(console: Console, report: Report) -> None:
    """Print the conclusion, and the command line to run next."""
    if report.conclusion:
        console.print()
        print_wrapped(console, "", report.conclusion, "bold")
    if report.todo is not None:
        heading, line = report.todo
        console.print(heading, style="bold")
        # One line of any length, so that it can be copied.
        console.print(f"  {line}", soft_wrap=True)
    if report.last_word:
        print_wrapped(console, "", report.last_word, "bold")


def _table(grid: Grid, is_one_line: bool) -> Table:
    """Return the table. is_one_line: whether headings are not divided into lines."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    last = len(grid.headings) - 1
    for index, heading in enumerate(grid.headings):
        text = heading.replace("\n", " ") if is_one_line else heading
        # A narrow terminal wraps the last column instead of cutting it.
        fixed = not grid.is_wide and index != last
        is_left = index == 0 or (grid.is_prose and index == last)
        table.add_column(text, justify="left" if is_left else "right", no_wrap=fixed)
    for row in grid.rows:
        table.add_row(*(Text(text) for text, _ in row.cells), style=_STYLES.get(row.kind, ""))
    return table
