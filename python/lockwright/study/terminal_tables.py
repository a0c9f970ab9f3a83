"""Tables of a study on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Shown
from rich.text import Text

from lockwright.base.terminal import print_wrapped
from lockwright.study.analysis import Analysis
from lockwright.study.result_table import TEXT, Table


def print_tables(console: Console, analysis: Analysis, tables: Sequence[Table]) -> None:
    """Prints the chosen tables with the meaning of their cells, and the answers of the analysis."""
    for table in tables:
        print_wrapped(console, "", f"{table.title} [{table.name}]", "bold")
        console.print(_grid(table, console.is_terminal))
        print_wrapped(console, "  ", table.meaning, "dim")
        console.print()
    for meaning in dict.fromkeys(meaning for _, meaning in analysis.rules):
        of = ", ".join(title for title, each in analysis.rules if each == meaning)
        print_wrapped(console, f"{of}: ", meaning, "dim")
    for about in dict.fromkeys(answer.about for answer in analysis.answers):
        console.print()
        print_wrapped(console, "", about, "bold")
        for answer in analysis.answers:
            if answer.about == about:
                print_wrapped(console, "  ", f"{answer.question} {answer.text}", "")
    for note in analysis.notes:
        print_wrapped(console, "Note: ", note, "yellow")


def _grid(table: Table, narrow: bool) -> Shown:
    grid = Shown(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    words_in = {column for column, way in table.formats.items() if way == TEXT}
    for place, column in enumerate(table.columns()):
        heading = column.replace("_", "\n") if narrow else column
        words = column in words_in
        # Where the terminal is narrow, words go on several lines, and figures stay whole.
        grid.add_column(
            heading, justify="left" if place == 0 or words else "right", no_wrap=not words
        )
    for row in table.rows():
        grid.add_row(*map(Text, row))
    return grid
