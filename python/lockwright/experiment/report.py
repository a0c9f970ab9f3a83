"""The report on an experiment, without a format: tables, remarks and a conclusion."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from lockwright.experiment import metered as meter_columns
from lockwright.experiment.columns import Column, TableOf
from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import Runs, with_relative_figures
from lockwright.experiment.summary import Summary
from lockwright.machine import load
from lockwright.page.rows import Row

BEST, NEAR, INCOMPLETE = "winner", "close", "incomplete"
"""Kinds of rows: the best, one near the best, and one whose runs did not all end."""


@dataclass(frozen=True)
class Grid:
    """A table. headings: may have line breaks for narrow terminals; rows: texts with sort keys,
    and their kind; notes: lines below it; is_wide: whether a narrow terminal may wrap all columns,
    not only the last one; is_prose: whether the last column is a text, which is aligned left."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    is_wide: bool = True
    is_prose: bool = False


def text_grid(
    title: str, headings: Sequence[str], lines: Sequence[Sequence[str]], *, is_prose: bool = False
) -> Grid:
    """Return a table of texts. is_prose: as of Grid."""
    rows = [Row([(text, text) for text in line], "") for line in lines]
    return Grid(title, headings, rows, is_prose=is_prose)


class Card(NamedTuple):
    """The best contender of a cell on the page. is_shown: whether it is shown to be the best; gain:
    a sentence; near: contenders near it."""

    is_shown: bool
    where: str
    best: str
    gain: str
    near: Sequence[str]


@dataclass(frozen=True)
class Report:
    """The report on an experiment. cells: the results in the order of the rows, by cell; started:
    ISO 8601, UTC; facts: of the machine and the build.

    grids: the tables; legend: terms with their meaning; remarks, warnings, failures: lines;
    conclusion: a sentence, with `todo`, the heading and the text of a command line, printed last.
    appendix: more tables after the warnings, with last_word, the conclusion on these. cards,
    subtitle, quantity, ratio, conditions, page_grids: only for the page: of the cells, a command
    line, what is measured, the definition of the ratio, what the runs were, more tables. metered:
    medians of the meters, and more: further parts, both for the JSON file; csv_lines: of the CSV
    file, None for a line per run.
    """

    experiment: Experiment
    title: str
    runs: Runs
    cells: Sequence[Sequence[Summary]]
    started: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    grids: Sequence[Grid] = ()
    legend: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()
    failures: Sequence[str] = ()
    conclusion: str = ""
    todo: tuple[str, str] | None = None
    appendix: Sequence[Grid] = ()
    page_grids: Sequence[Grid] = ()
    last_word: str = ""
    cards: Sequence[Card] = ()
    subtitle: str = ""
    quantity: str = ""
    ratio: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    metered: Sequence[Mapping[str, Any]] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    csv_lines: Sequence[Mapping[str, object]] | None = None


def failures(runs: Runs) -> list[str]:
    """Return a line for each problem of the runs, each once."""
    lines = {
        f"{', '.join(filter(None, [run.contender, run.cell]))}: {problem}": None
        for run in runs
        for problem in run.problems
    }
    return list(lines)


def grid(table: TableOf, rows: Sequence[Summary]) -> Grid:
    """Return a table of a cell."""
    lines = [_row(table.columns, row) for row in sorted(rows, key=table.order) if table.rows(row)]
    title = table.title(rows[0].of_cell)
    return Grid(title, [each.heading for each in table.columns], lines)


def _row(columns: Sequence[Column], row: Summary) -> Row:
    cells = []
    for each in columns:
        text = each.text(row)
        cells.append((text, text if each.key is None else _sort_key(each.key(row))))
    kind = {"*": BEST, "=": NEAR}.get(row.mark, "")
    return Row(cells, kind if row.complete else INCOMPLETE)


def _sort_key(key: float | str | None) -> str:
    if isinstance(key, str):
        return key
    return "" if key is None or not math.isfinite(key) else repr(key)


class Metered(NamedTuple):
    """The tables of energy and counters, their legend, remarks on these, and the medians for the
    JSON file, a row for each contender in each cell."""

    grids: Sequence[Grid] = ()
    legend: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()


def metered(experiment: Experiment, cells: Sequence[Sequence[Summary]]) -> Metered:
    """Return what the meters of the runs have read."""
    read = experiment.meters
    if read is None or not read.wanted:
        return Metered()
    found = meter_columns.columns(experiment, read, cells)
    first = Column("lock", "", lambda row: row.contender)
    tables = []
    for rows in cells:
        name = ", ".join(filter(None, ["energy and counters", rows[0].cell, "medians"]))
        used = [each for each in found if any(each.text(row) != "-" for row in rows)]
        if used:
            tables.append(replace(grid(TableOf([first, *used]), rows), title=name))
    medians = [
        {**row.of_cell.options, "lock": row.contender}
        | {each.heading: value for each in found if (value := each.key and each.key(row))}
        for rows in cells
        for row in rows
    ]
    legend = [(each.heading, each.definition) for each in found]
    return Metered(tables, legend, read.notes(), medians if found else [])


def make(
    experiment: Experiment, runs: Runs, *, started: str = "", facts: Mapping[str, Any] | None = None
) -> Report:
    """Return the usual report on the runs made so far."""
    runs = with_relative_figures(runs, experiment.figures)
    cells = experiment.summaries(runs)
    tables = experiment.all_tables()
    columns = [each for table in tables for each in table.columns if each.definition]
    meters = metered(experiment, cells)
    grids = [grid(table, rows) for rows in cells for table in tables]
    meanings = {each.heading.replace("\n", " "): each.definition for each in columns}
    own = dict.fromkeys(text for run in runs for text in run.details.get("remarks", ()))
    busy = load.warning([run.others for run in runs if run.counted])
    usual = Report(
        experiment,
        experiment.title or experiment.kind,
        runs,
        cells,
        started,
        facts or {},
        [*(each for each in grids if each.rows), *meters.grids],
        [*meanings.items(), *meters.legend],
        [*experiment.remarks(cells), *own, *meters.remarks],
        [busy] if busy else [],
        failures(runs),
        metered=meters.rows,
    )
    made: Report = experiment.report(usual)
    return made
