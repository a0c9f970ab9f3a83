"""The reader of the SQLite file of `lockwright study run`."""

import json
import math
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
from lockwright.base.errors import LockwrightError
from lockwright.experiment import Run
from lockwright.experiment.store import FORMAT, run_of
from lockwright.machine import load
from lockwright.machine.meters import total_watts
from lockwright.run.record import FINISHED

from lockwright_lab.study import schema
from lockwright_lab.study.campaign.experiment import CONFIGURATIONS, KIND
from lockwright_lab.study.dataset import COUNT, UNFINISHED, Source
from lockwright_lab.study.program.trial import LATENCY, VALUE

_MAGIC = b"SQLite format 3\0"


def is_study_file(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("program", "pinning"), str),
    **dict.fromkeys(("threads", "nodes"), int),
    "others": float | int | None,
}
"""The types of the values of a run that the store does not check."""


def read(path: Path) -> tuple[Source, list[str]]:
    """Return the counted runs, and notes about the others. A machine whose programs ran in several
    placements counts as several. Raises LockwrightError if `lockwright study run` did not write
    the file."""
    try:
        # The connection is not read-only: rolling back the journal of a killed study writes.
        connection = sqlite3.connect(path, timeout=10)
        connection.row_factory = sqlite3.Row
        try:
            plan, runs = _stored(path, connection)
        finally:
            connection.close()
    except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
        raise LockwrightError(f"cannot read {path}: {error}", "name another file") from error
    try:
        return _source(path, plan, [_row(plan, run) for run in runs])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LockwrightError(f"{path} is damaged ({error})", "name another file") from error


def _stored(path: Path, connection: sqlite3.Connection) -> tuple[dict[str, Any], list[Run]]:
    """Return the plan and the counted runs."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    is_other = connection.execute("PRAGMA application_id").fetchone()[0] != 0
    query = "SELECT id, plan FROM experiment WHERE kind = ? ORDER BY id"
    study = None
    if version == FORMAT and not is_other:
        study = connection.execute(query, (KIND,)).fetchone()
    if study is None:
        raise LockwrightError(
            f"{path} is not a file of this version's 'lockwright study run'", "name another file"
        )
    query = "SELECT * FROM run WHERE experiment = ? AND round >= 1 ORDER BY rowid"
    rows = connection.execute(query, (study["id"],)).fetchall()
    return json.loads(study["plan"]), [run_of(row) for row in rows]


def _row(plan: dict[str, Any], run: Run) -> dict[str, Any]:
    """Return what the analysis needs of a run, by name."""
    return {
        **plan[CONFIGURATIONS][run.cell],
        "lock": run.contender,
        "machine": run.machine,
        "outcome": run.ended,
        "value": run.figures.get(VALUE),
        "latency": run.figures.get(LATENCY),
        "others": run.others,
        "meters": run.meters,
    }


def _source(
    path: Path, plan: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[Source, list[str]]:
    """Return the counted runs, and notes about the others."""
    for row in rows:
        for name, kinds in _KINDS.items():
            if not isinstance(row[name], kinds):
                raise ValueError(f"its column {name} has the value {str(row[name])[:40]!r}")
        for name in ("value", "latency"):
            if row[name] and not 1 / schema.MOST < abs(row[name]) < schema.MOST:
                raise ValueError(f"its column {name} has the value {row[name]:g}")
    good = [row for row in rows if row["outcome"] == FINISHED and (row["value"] or 0) > 0]
    if not good:
        raise LockwrightError(f"{path} has no run that finished", "resume the study")
    programs = {member["program"]["name"]: member["program"] for member in plan["members"]}
    by_nodes = all(row["threads"] == 0 for row in rows)
    lines = [_line(row, programs[row["program"]], plan, by_nodes) for row in good]
    frame = pd.DataFrame(lines)
    unfinished_runs = [
        _configuration(row, plan, by_nodes) | {"outcome": row["outcome"]}
        for row in rows
        if row["outcome"] != FINISHED
    ]
    metrics = tuple(
        name for name in ("throughput", "latency", "power", "tpp") if frame[name].notna().any()
    )
    frame = frame[["machine", "application", COUNT, "lock", "variant", *metrics]]
    unfinished = pd.DataFrame(unfinished_runs, columns=list(UNFINISHED))
    counted = "nodes" if by_nodes else "threads"
    return Source(plan["name"], frame, metrics, counted, unfinished=unfinished), _notes(path, rows)


def _line(
    row: dict[str, Any], program: dict[str, Any], plan: dict[str, Any], by_nodes: bool
) -> dict[str, Any]:
    value = row["value"]
    throughput = value if program["metric"]["better"] == schema.HIGHER else 1 / value
    watts = total_watts(row["meters"]) or math.nan
    latency = math.nan
    if row["latency"] and program["latency"]:
        latency = row["latency"] * schema.METRICS["latency"].units[program["latency"]["unit"]]
    return _configuration(row, plan, by_nodes) | {
        "variant": "",
        "throughput": throughput,
        "latency": latency,
        "power": watts,
        "tpp": throughput / watts,
    }


def _configuration(row: dict[str, Any], plan: dict[str, Any], by_nodes: bool) -> dict[str, Any]:
    machine = [row["machine"]]
    if len(plan["pinning"]) > 1:
        machine.append(row["pinning"])
    if len(plan["nodes"]) > 1 and not by_nodes:
        machine.append(f"{row['nodes']} nodes")
    return {
        "machine": ", ".join(machine),
        "application": row["program"],
        COUNT: row["nodes"] if by_nodes else row["threads"],
        "lock": row["lock"],
    }


def _notes(path: Path, rows: list[dict[str, Any]]) -> list[str]:
    outcomes = Counter(row["outcome"] for row in rows if row["outcome"] != FINISHED)
    notes = []
    if outcomes:
        words = ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))
        notes.append(f"{path.name}: runs that count for no lock: {words}")
    if disturbed := load.warning([row["others"] for row in rows]):
        notes.append(f"{path.name}: {disturbed}")
    return notes
