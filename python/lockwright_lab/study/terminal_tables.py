"""Tables of a study on a terminal."""

from collections.abc import Sequence

from lockwright.base.terminal import print_wrapped
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from lockwright_lab.study.analysis import Analysis
from lockwright_lab.study.result_table import TEXT, Table


def print_tables(console: Console, analysis: Analysis, tables: Sequence[Table]) -> None:
    """Print the chosen tables with the meaning of their cells, and the answers of the analysis."""
    for table in tables:
        print_wrapped(console, "", f"{table.title} [{table.name}]", "bold")
        console.print(_grid(table, console.is_terminal))
        print_wrapped(console, "  ", table.meaning, "dim")
        console.print()
    for meaning in dict.fromkeys(meaning for _, meaning in analysis.rules):
        titles = ", ".join(title for title, rule in analysis.rules if rule == meaning)
        print_wrapped(console, f"{titles}: ", meaning, "dim")
    for about in dict.fromkeys(answer.about for answer in analysis.answers):
        console.print()
        print_wrapped(console, "", about, "bold")
        for answer in analysis.answers:
            if answer.about == about:
                print_wrapped(console, "  ", f"{answer.question} {answer.text}", "")
    for note in analysis.notes:
        print_wrapped(console, "Note: ", note, "yellow")


def _grid(table: Table, narrow: bool) -> RichTable:
    grid = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    text_columns = {column for column, form in table.formats.items() if form == TEXT}
    for index, column in enumerate(table.columns()):
        heading = column.replace("_", "\n") if narrow else column
        is_text = column in text_columns
        # In a narrow terminal, text wraps and figures do not.
        grid.add_column(
            heading, justify="left" if index == 0 or is_text else "right", no_wrap=not is_text
        )
    for row in table.rows():
        grid.add_row(*map(Text, row))
    return grid
