"""Tables of a study on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Shown
from rich.text import Text

from lockwright.study.analysis import Analysis
from lockwright.study.table import Table
from lockwright.terminal import print_wrapped


def show(console: Console, analysis: Analysis, tables: Sequence[Table]) -> None:
    """Prints some of the tables, what their cells mean, and the notes on all."""
    for table in tables:
        print_wrapped(console, "", f"{table.title} [{table.name}]", "bold")
        console.print(_grid(table))
        print_wrapped(console, "  ", table.meaning, "dim")
        console.print()
    for meaning in dict.fromkeys(meaning for _, meaning in analysis.rules):
        of = ", ".join(title for title, each in analysis.rules if each == meaning)
        print_wrapped(console, f"{of}: ", meaning, "dim")
    for note in analysis.notes:
        print_wrapped(console, "Note: ", note, "yellow")


def _grid(table: Table) -> Shown:
    grid = Shown(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for place, column in enumerate(table.columns()):
        grid.add_column(column, justify="left" if place == 0 else "right", no_wrap=True)
    for row in table.rows():
        grid.add_row(*map(Text, row))
    return grid
