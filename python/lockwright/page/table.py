"""Tables of a page, which are sorted by a click on a heading."""

import math
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


def row(cells: Iterable[tuple[str, str]], kind: str = "", link: str = "") -> str:
    """A line of cells, each its text and what it is sorted by: a number, a word, or '' for none.

    kind: class of the line. link: where the first cell leads.
    """
    inside: list[str] = []
    for text, key in cells:
        shown = escape(text)
        if link and not inside:
            shown = f'<a href="{escape(link)}">{shown}</a>'
        inside.append(f'<td data-key="{escape(key)}">{shown}</td>')
    of = f' class="{kind}"' if kind else ""
    return f"<tr{of}>{''.join(inside)}</tr>"


def number(value: float, text: str) -> tuple[str, str]:
    """A cell with a number, which is sorted by its value; NaN is none."""
    return ("-", "") if math.isnan(value) else (text, repr(float(value)))
