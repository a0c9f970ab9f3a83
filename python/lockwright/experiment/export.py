"""Results for other programs: JSON with all data, CSV with a line per run."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import Cell, Figure, Run
from lockwright.experiment.report import Report
from lockwright.experiment.summary import Summary

SCHEMA = 1
"""Increased when a field is removed or changes its meaning."""


def to_json(report: Report) -> str:
    """Return the experiment as JSON."""
    experiment = report.experiment
    document = {
        "schema": SCHEMA,
        "kind": experiment.kind,
        "title": report.title,
        "started": report.started,
        "plan": experiment.plan(),
        "provenance": report.facts,
        "columns": dict(report.legend),
        "metered": list(report.metered),
        "figures": {each.name: _meaning(each) for each in experiment.figures},
        "summaries": [summary_row(row, experiment) for of in report.cells for row in of],
        "remarks": list(report.remarks),
        "warnings": list(report.warnings),
        "failures": list(report.failures),
        **report.more,
        "runs": run_rows(report),
    }
    return json.dumps(document, indent=2, default=vars) + "\n"


def _meaning(figure: Figure) -> dict[str, Any]:
    return {
        "unit": figure.unit,
        "lower_is_better": figure.lower_is_better,
        "definition": figure.definition,
    }


def summary_row(row: Summary, experiment: Experiment) -> dict[str, Any]:
    """Return the results of a contender in a cell. Among them `figures` has the median and the
    quartiles of each figure, and `table` the texts of its row in the tables."""
    spreads = {each.name: row.over_rounds(each.name) for each in experiment.figures}
    texts = {
        column.heading.replace("\n", " "): column.text(row)
        for table in experiment.tables
        for column in table.columns
        if table.rows(row)
    }
    return {
        **row.of_cell.options,
        experiment.what: row.contender,
        "values": row.values,
        "median": row.median,
        "spread": row.spread,
        "ratio": None if row.ratio is None else asdict(row.ratio),
        "wanted": row.wanted,
        "timeouts": row.timeouts,
        "failures": row.failures,
        "note": row.note,
        "gave_up": row.gave_up,
        "mark": row.mark,
        "fate": row.fate,
        "limit": row.limit,
        "figures": {name: None if each is None else asdict(each) for name, each in spreads.items()},
        "table": texts,
    }


def run_rows(report: Report) -> list[dict[str, Any]]:
    """Return a row for each run, warm-up runs (round below 1) included."""
    cells = {each.name: each for each in report.experiment.cells}
    return [
        _run_row(run, cells[run.cell], report.experiment)
        for run in report.runs
        if run.cell in cells
    ]


def _run_row(run: Run, cell: Cell, experiment: Experiment) -> dict[str, Any]:
    return {
        **(cell.options or ({"cell": cell.name} if cell.name else {})),
        "round": run.round,
        experiment.what: run.contender,
        "outcome": run.ended,
        **{each.name: run.figures.get(each.name) for each in experiment.figures},
        "wall": run.wall,
        **run.details,
        "note": run.note,
        "started": run.started,
    }


def to_csv(report: Report) -> str:
    """Return a line per run, with a column for each figure and each metered value. Details that are
    no numbers or words are left out. Some experiments have other lines."""
    if report.csv_lines is not None:
        return csv_text(report.csv_lines)
    figures = report.experiment.figures
    lines = []
    for row in run_rows(report):
        meters = row.pop("meters", None) or {}
        line = {name: value for name, value in row.items() if not isinstance(value, list | dict)}
        if len(figures) == 1:
            line["unit"] = figures[0].unit
        lines.append({**line, **meters})
    return csv_text(lines)


def csv_text(lines: Iterable[Mapping[str, object]]) -> str:
    """Return the lines as CSV below one with the names of all their columns."""
    lines = list(lines)
    text = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()
