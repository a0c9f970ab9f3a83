"""Predictions as tables, CSV and JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from lockwright import version
from lockwright.base import numbers
from lockwright.base.terminal import empty_table
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
from lockwright.predict.ranking import Prediction
from lockwright.predict.what_if import Effect
from lockwright.simulate.model import Model


def print_notes(console: Console, header: Header, failures: Sequence[str]) -> None:
    """Print the notes below the tables, and the simulations that failed."""
    for note in header.notes:
        console.print(note, style="dim", soft_wrap=True)
    for text in failures:
        console.print(f"FAILED: {text}", style="bold red", soft_wrap=True)


def range_of(found: Estimate | None) -> str:
    """Return the range of a ratio; `-` for none."""
    return "-" if found is None else f"{numbers.ratio(found.low)} to {numbers.ratio(found.high)}"


def ranks(prediction: Prediction) -> str:
    """Return the ranks that a lock may have."""
    if prediction.first == prediction.last:
        return str(prediction.first)
    return f"{prediction.first} to {prediction.last}"


def ranking_table(ranked: Sequence[Prediction]) -> Table:
    """Return the table of the locks with one number of threads."""
    table = empty_table(f"{count_of_threads(ranked[0].threads)}, predicted", "Lock")
    for heading in ("rank", "ratio", "range", "sections/s", "range", "p99 wait"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in ranked:
        table.add_row(
            each.lock,
            ranks(each),
            "-" if each.ratio is None else numbers.ratio(each.ratio.value),
            range_of(each.ratio),
            numbers.count(each.rate.value),
            f"{numbers.count(each.rate.low)} to {numbers.count(each.rate.high)}",
            numbers.time(each.wait.value),
        )
    return table


def tied(ranked: Sequence[Prediction]) -> str:
    """Return a sentence on the locks that cannot be told apart from the best."""
    if len(ranked) == 1:
        return ""
    # A lock that may be the first is worse than no other one.
    names = [each.lock for each in ranked if each.first == 1]
    if len(names) == 1:
        return f"{names[0]} is told apart from all others."
    return f"These cannot be told apart: {', '.join(names)}."


def effects_table(effects: Sequence[Effect], lock: str, threads: int) -> Table:
    """Return the table of the changes. lock, threads: those of the program without the change."""
    table = empty_table(
        f"Predicted change from {threads} threads under {lock}; tail: p99 of an acquisition",
        "Change",
    )
    for heading in ("throughput", "range", "tail", "range"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in effects:
        if each.failure:
            table.add_row(each.change.text, "failed", "-", "-", "-")
            continue
        table.add_row(
            each.change.text,
            "-" if each.throughput is None else numbers.ratio(each.throughput.value),
            range_of(each.throughput),
            "-" if each.tail is None else numbers.ratio(each.tail.value),
            range_of(each.tail),
        )
    return table


def ranking_csv(header: Header, ranked: Sequence[Prediction]) -> str:
    """Return the rankings as CSV, a line for each lock and number of threads."""
    rows = [
        {
            "predicted": 1,
            "machine": header.machine.name,
            "lock": each.lock,
            "threads": each.threads,
            "first_rank": each.first,
            "last_rank": each.last,
            **_columns("ratio", each.ratio),
            **_columns("rate", each.rate),
            **_columns("wait_p99_ns", each.wait),
        }
        for each in ranked
    ]
    return _csv(rows)


def effects_csv(header: Header, effects: Sequence[Effect]) -> str:
    """Return the changes as CSV."""
    rows = [
        {
            "predicted": 1,
            "machine": header.machine.name,
            "change": each.change.text,
            **_columns("throughput", each.throughput),
            **_columns("tail", each.tail),
            "failure": each.failure,
        }
        for each in effects
    ]
    return _csv(rows)


def _columns(name: str, found: Estimate | None) -> dict[str, object]:
    if found is None:
        return {name: "", f"{name}_low": "", f"{name}_high": ""}
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _csv(rows: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def ranking_json(header: Header, ranked: Sequence[Prediction], reasons: Mapping[int, str]) -> str:
    """Return the rankings as JSON. reasons: by number of threads."""
    rows = [
        {
            "lock": each.lock,
            "threads": each.threads,
            "ranks": [each.first, each.last],
            "ratio": None if each.ratio is None else asdict(each.ratio),
            "rate": asdict(each.rate),
            "wait_p99_ns": asdict(each.wait),
        }
        for each in ranked
    ]
    texts = {str(threads): text for threads, text in reasons.items()}
    return _json(header, {"rows": rows, "reasons": texts})


def effects_json(header: Header, effects: Sequence[Effect], lock: str, threads: int) -> str:
    """Return the changes as JSON."""
    rows = [
        {
            "change": each.change.text,
            "throughput": None if each.throughput is None else asdict(each.throughput),
            "tail": None if each.tail is None else asdict(each.tail),
            "failure": each.failure,
        }
        for each in effects
    ]
    return _json(header, {"lock": lock, "threads": threads, "rows": rows})


def _json(header: Header, content: Mapping[str, object]) -> str:
    machine = header.machine
    document = {
        "predicted": True,
        "version": version(),
        "program": header.program,
        "machine": {"name": machine.name, "title": machine.title, "sources": dict(machine.sources)},
        "agreement": None if header.agreement is None else asdict(header.agreement),
        "model": _model(header.derived.model),
        "assumptions": [variant.label for variant in header.derived.variants],
        **content,
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _model(model: Model) -> dict[str, object]:
    return {
        "source": model.source,
        "unknown": list(model.unknown),
        "threads": model.threads,
        "mutexes": [{"name": each.name, "instances": each.instances} for each in model.mutexes],
        "roles": [{"name": each.name, "threads": each.threads} for each in model.roles],
    }


def count_of_threads(count: int) -> str:
    """Return `1 thread`, `2 threads`."""
    return "1 thread" if count == 1 else f"{count} threads"
