"""Tables of a page, which are sorted by a click on a heading."""

from collections.abc import Iterable
from html import escape


def grid(columns: Iterable[str], rows: Iterable[str]) -> str:
    """A table with these headings; rows are <tr> elements, see row()."""
    head = "".join(
        f'<th scope="col"><button type="button">{escape(column)}</button></th>'
        for column in columns
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def row(cells: Iterable[tuple[str, str]], kind: str = "") -> str:
    """A line of cells, each its text and what it is sorted by: a number, a word, or '' for none."""
    inside = "".join(f'<td data-key="{escape(key)}">{escape(text)}</td>' for text, key in cells)
    of = f' class="{kind}"' if kind else ""
    return f"<tr{of}>{inside}</tr>"
