"""The HTML page of a grid, with its map as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.page import templates
from lockwright.page.rows import Row, number
from lockwright.preload.locks import BASELINE

from lockwright_lab import PACKAGE
from lockwright_lab.bench.regret.tables import (
    COLUMNS,
    cell_text,
    details,
    map_rows,
    percent,
    sentences,
)
from lockwright_lab.bench.regret.verdict import CLOSE, NEAR, Summary, Verdict

_WIDTH, _HEIGHT, _LEFT, _TOP = 166, 24, 184, 34
"""Pixels of a field of the map, and of the labels beside and above it."""


@dataclass(frozen=True)
class Field:
    """A rectangle of the map. kind: its CSS class. title: the text of its tooltip."""

    x: int
    y: int
    kind: str
    text: str
    title: str


@dataclass(frozen=True)
class Picture:
    """The map. rows, columns: labels with their positions."""

    width: int
    height: int
    rows: Sequence[tuple[int, str]]
    columns: Sequence[tuple[int, str]]
    fields: Sequence[Field]
    field_width: int = _WIDTH - 2
    field_height: int = _HEIGHT - 2


def kind_of(verdict: Verdict) -> str:
    """Return the CSS class of a field."""
    if not verdict.survives:
        return "failed"
    if verdict.regret is None:
        return "none"
    if verdict.regret.value < 0:
        return "ahead"
    for limit, name in ((CLOSE, "close"), (NEAR, "near"), (0.5, "behind")):
        if verdict.regret.value <= limit:
            return name
    return "far"


def picture(verdicts: Sequence[Verdict]) -> Picture:
    """Return the map: a line for each load, a column for each number of threads."""
    counts = sorted({each.cell.threads for each in verdicts})
    rows = map_rows(verdicts)
    fields = []
    for line, by_threads in enumerate(rows.values()):
        for column, count in enumerate(counts):
            if (verdict := by_threads.get(count)) is not None:
                x, y = _LEFT + column * _WIDTH, _TOP + line * _HEIGHT
                title = "; ".join(
                    f"{each.heading} {text}"
                    for each, text in zip(COLUMNS, details(verdict), strict=True)
                    if text
                )
                fields.append(Field(x, y, kind_of(verdict), cell_text(verdict), title))
    return Picture(
        _LEFT + len(counts) * _WIDTH,
        _TOP + len(rows) * _HEIGHT,
        [(_TOP + line * _HEIGHT, name) for line, name in enumerate(rows)],
        [(_LEFT + column * _WIDTH, f"{count}") for column, count in enumerate(counts)],
        fields,
    )


def as_page(
    verdicts: Sequence[Verdict],
    summary: Summary,
    lock: str,
    heading: str,
    remarks: Sequence[str],
) -> str:
    """Return the HTML. heading: the conditions in a line."""
    rows = []
    for each in verdicts:
        cells = [(text, text) for text in details(each)]
        if each.regret is not None:
            cells[1] = number(each.regret.value, percent(each.regret.value))
        rows.append(Row(cells, "" if each.within(CLOSE) else "incomplete"))
    return templates.fill(
        "bench/regret/page/page.html",
        {"locks": [lock], "baseline": BASELINE},
        root=PACKAGE,
        title=f"Regret of {lock}",
        heading=heading,
        sentences=sentences(summary, lock),
        remarks=remarks,
        picture=picture(verdicts),
        kinds=_KINDS,
        columns=[each.heading for each in COLUMNS],
        rows=rows,
        meanings={each.heading: each.definition for each in COLUMNS},
    )


_KINDS = {
    "ahead": "faster than all others",
    "close": f"at most {100 * CLOSE:.0f} % behind",
    "near": f"at most {100 * NEAR:.0f} % behind",
    "behind": "at most 50 % behind",
    "far": "more than 50 % behind",
    "failed": "failed",
}
