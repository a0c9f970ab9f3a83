"""A prediction in all its forms: tables in a terminal, JSON, CSV and a page."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lockwright import version
from lockwright.base import files, numbers
from lockwright.experiment.export import csv_text
from lockwright.experiment.report import Grid
from lockwright.experiment.terminal import print_grid
from lockwright.page.rows import Cell, Row, number
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
from lockwright.predict.ranking import Prediction
from lockwright.predict.what_if import Effect

_ESTIMATES = ("ratio", "rate", "wait_p99_ns", "throughput", "tail")
"""The keys of a row whose values are estimates, or None."""


@dataclass(frozen=True)
class Shown:
    """A prediction. tables: each with a text below it; rows: of the files; more: further parts of
    the JSON file; page: makes the page; failures: lines on what could not be simulated."""

    header: Header
    tables: Sequence[tuple[Grid, str]]
    rows: Sequence[Mapping[str, Any]]
    more: Mapping[str, Any]
    page: Callable[[], str]
    failures: Sequence[str]

    def show(self, console: Console) -> None:
        """Print the tables, and the notes and failures below them."""
        console.print(self.header.title, style="bold", soft_wrap=True)
        for grid, text in self.tables:
            print_grid(console, grid)
            console.print(text, soft_wrap=True)
        for note in self.header.notes:
            console.print(note, style="dim", soft_wrap=True)
        for failure in self.failures:
            console.print(f"FAILED: {failure}", style="bold red", soft_wrap=True)

    def write(self, json_file: Path | None, csv_file: Path | None, html_file: Path | None) -> None:
        """Write the files that are asked for."""
        if json_file is not None:
            files.write(json_file, self._as_json(), "--json")
        if csv_file is not None:
            first = {"predicted": 1, "machine": self.header.machine.name}
            lines = [first | _columns(row) for row in self.rows]
            files.write(csv_file, csv_text(lines), "--csv")
        if html_file is not None:
            files.write(html_file, self.page(), "--html")

    def _as_json(self) -> str:
        header = self.header
        machine, model = header.machine, header.derived.model
        document = {
            "predicted": True,
            "version": version(),
            "program": header.program,
            "machine": {
                "name": machine.name,
                "title": machine.title,
                "sources": dict(machine.sources),
            },
            "agreement": header.agreement,
            "model": {
                "source": model.source,
                "unknown": list(model.unknown),
                "threads": model.threads,
                "mutexes": [
                    {"name": each.name, "instances": each.instances} for each in model.mutexes
                ],
                "roles": [{"name": each.name, "threads": each.threads} for each in model.roles],
            },
            "assumptions": [variant.label for variant in header.derived.variants],
            **self.more,
            "rows": self.rows,
        }
        return json.dumps(document, indent=1, allow_nan=False, default=vars) + "\n"


def _columns(row: Mapping[str, Any]) -> dict[str, object]:
    """Return a row with three columns for each estimate, and two for the ranks."""
    columns: dict[str, object] = {}
    for name, value in row.items():
        if name in _ESTIMATES:
            ends = ("", "", "") if value is None else (value.value, value.low, value.high)
            columns |= zip((name, f"{name}_low", f"{name}_high"), ends, strict=True)
        elif name == "ranks":
            columns |= zip(("first_rank", "last_rank"), value, strict=True)
        else:
            columns[name] = value
    return columns


def ranking_rows(ranked: Sequence[Prediction]) -> list[dict[str, Any]]:
    """Return a row for each lock and number of threads."""
    return [
        {
            "lock": each.lock,
            "threads": each.threads,
            "ranks": [each.first, each.last],
            "ratio": each.ratio,
            "rate": each.rate,
            "wait_p99_ns": each.wait,
        }
        for each in ranked
    ]


def effect_rows(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """Return a row for each change."""
    return [
        {
            "change": each.change.text,
            "throughput": each.throughput,
            "tail": each.tail,
            "failure": each.failure,
        }
        for each in effects
    ]


def ranking_grid(title: str, ranked: Sequence[Prediction]) -> Grid:
    """Return the table of the locks."""
    rows = [
        Row(
            [
                (each.lock, each.lock),
                (str(each.threads), str(each.threads)),
                (_ranks(each), str(each.first)),
                *_ratio(each.ratio),
                number(each.rate.value, numbers.count(each.rate.value)),
                (f"{numbers.count(each.rate.low)} to {numbers.count(each.rate.high)}", ""),
                number(each.wait.value, numbers.time(each.wait.value)),
            ]
        )
        for each in ranked
    ]
    headings = ["Lock", "threads", "rank", "ratio", "range", "sections/s", "range", "p99 wait"]
    return Grid(title, headings, rows)


def effects_grid(title: str, effects: Sequence[Effect]) -> Grid:
    """Return the table of the changes."""
    rows = []
    for each in effects:
        cells = [*_ratio(each.throughput), *_ratio(each.tail)]
        if each.failure:
            cells[0] = ("failed", "")
        rows.append(Row([(each.change.text, each.change.text), *cells]))
    return Grid(title, ["Change", "throughput", "range", "tail", "range"], rows)


def _ratio(found: Estimate | None) -> list[Cell]:
    """Return a ratio and its range."""
    if found is None:
        return [number(math.nan, ""), ("-", "")]
    ends = f"{numbers.ratio(found.low)} to {numbers.ratio(found.high)}"
    return [number(found.value, numbers.ratio(found.value)), (ends, "")]


def _ranks(prediction: Prediction) -> str:
    """Return the ranks that a lock may have."""
    if prediction.first == prediction.last:
        return str(prediction.first)
    return f"{prediction.first} to {prediction.last}"


def tied(ranked: Sequence[Prediction]) -> str:
    """Return a sentence on the locks that cannot be told apart from the best."""
    if len(ranked) == 1:
        return ""
    # A lock that may be the first is worse than no other one.
    names = [each.lock for each in ranked if each.first == 1]
    if len(names) == 1:
        return f"{names[0]} is told apart from all others."
    return f"These cannot be told apart: {', '.join(names)}."


def count_of_threads(count: int) -> str:
    """Return `1 thread`, `2 threads`."""
    return "1 thread" if count == 1 else f"{count} threads"
