"""Results in an SQLite file; each run is committed as soon as it has ended."""

import json
import math
import sqlite3
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from lockwright.base import results
from lockwright.base.errors import LockwrightError
from lockwright.base.results import now, this_process
from lockwright.base.user_folders import user_folder
from lockwright.compare.plan import Plan
from lockwright.compare.probe import FIXED_TIME
from lockwright.run import resume
from lockwright.run.record import Record

_FORMAT = 1

_Kind = TypeVar("_Kind")

_RUN_COLUMNS = [field.name for field in fields(Record)]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS comparison (
    id INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    finished TEXT,
    owner TEXT NOT NULL,
    plan TEXT NOT NULL,
    provenance TEXT NOT NULL,
    probe TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS run (
    comparison INTEGER NOT NULL REFERENCES comparison (id),
    threads INTEGER NOT NULL,
    round INTEGER NOT NULL,
    lock TEXT NOT NULL,
    outcome TEXT NOT NULL,
    value REAL,
    wall REAL NOT NULL,
    user REAL NOT NULL,
    system REAL NOT NULL,
    voluntary INTEGER NOT NULL,
    involuntary INTEGER NOT NULL,
    others REAL,
    status INTEGER,
    note TEXT NOT NULL,
    started TEXT NOT NULL,
    meters TEXT NOT NULL DEFAULT '{}',
    UNIQUE (comparison, threads, round, lock)
);
"""


@dataclass(frozen=True)
class Comparison:
    """A comparison in the file, finished or not. owner: the process that carries it out, as named
    by `this_process`; probe: counts of the probe run."""

    id: int
    started: str
    finished: str | None
    owner: str
    plan: Plan
    provenance: dict[str, Any]
    probe: dict[str, int]

    @property
    def has_fixed_time(self) -> bool:
        """Whether the program seems to run for a fixed time, so that wall times show nothing."""
        return bool(self.probe.get(FIXED_TIME))


def _of_its_types(kind: Callable[..., _Kind], values: Mapping[str, Any]) -> _Kind:
    """Return a dataclass of these values. Raises TypeError if one has another type, or is a number
    that is not finite."""
    for name, hint in typing.get_type_hints(kind).items():
        expected = typing.get_origin(hint) or hint
        if expected is types.UnionType:
            expected = hint
        value = values[name]
        is_finite = not isinstance(value, float) or math.isfinite(value)
        if not isinstance(value, expected) or not is_finite:
            raise TypeError(f"{name} is {str(value)[:40]!r}")
    return kind(**values)


def default_path() -> Path:
    """Return the results file in the user's state directory."""
    folder = user_folder("XDG_STATE_HOME", "results", "name a file with --db")
    return folder / "comparisons.sqlite"


class Store:
    """An open results file. Methods raise LockwrightError if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._guard():
            self._connection = results.connect(path, _SCHEMA, _FORMAT)
            self._connection.execute("PRAGMA journal_mode = WAL")
            # This survives a kill at any moment, but not a crash of the kernel.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._add_missing_columns()

    def _add_missing_columns(self) -> None:
        """Add the columns that older files of this format lack."""
        rows = self._connection.execute("SELECT name FROM pragma_table_info('run')").fetchall()
        if "meters" not in {row["name"] for row in rows}:
            self._connection.execute("ALTER TABLE run ADD COLUMN meters TEXT NOT NULL DEFAULT '{}'")

    def _guard(self) -> AbstractContextManager[None]:
        return results.explain_errors(self.path, "with --resume")

    def close(self) -> None:
        with self._guard():
            self._connection.close()

    def begin(self, plan: Plan, provenance: dict[str, Any], probe: dict[str, int]) -> Comparison:
        """Add a comparison that this process carries out."""
        started, owner = now(), this_process()
        with self._guard():
            cursor = self._connection.execute(
                "INSERT INTO comparison (started, owner, plan, provenance, probe)"
                " VALUES (?, ?, ?, ?, ?)",
                (started, owner, plan.to_json(), json.dumps(provenance), json.dumps(probe)),
            )
        assert cursor.lastrowid is not None
        return Comparison(cursor.lastrowid, started, None, owner, plan, provenance, probe)

    def unfinished(self) -> list[Comparison]:
        """Return all comparisons that were interrupted or are under way, the latest first."""
        with self._guard():
            rows = self._connection.execute(
                "SELECT * FROM comparison WHERE finished IS NULL ORDER BY id DESC"
            ).fetchall()
        return [self._comparison(row) for row in rows]

    def comparison(self, number: int) -> Comparison:
        """Return the comparison of that id."""
        with self._guard():
            row = self._connection.execute(
                "SELECT * FROM comparison WHERE id = ?", (number,)
            ).fetchone()
        if row is None:
            raise LockwrightError(
                f"the results in {self.path} are damaged (no comparison {number})",
                "name another file with --db",
            )
        return self._comparison(row)

    def _comparison(self, row: sqlite3.Row) -> Comparison:
        values = dict(row)
        with results.explain_damage(self.path):
            values["plan"] = Plan.from_json(values["plan"])
            values["provenance"] = json.loads(values["provenance"])
            values["probe"] = json.loads(values["probe"])
            return _of_its_types(Comparison, values)

    def adopt(self, comparison: Comparison) -> None:
        """Make this process the owner. Raises LockwrightError if the previous owner is alive."""
        resume.check_not_running(comparison.owner, "comparison")
        with self._guard():
            self._connection.execute(
                "UPDATE comparison SET owner = ? WHERE id = ?", (this_process(), comparison.id)
            )

    def add(self, comparison: Comparison, record: Record) -> None:
        values = asdict(record) | {"meters": json.dumps(dict(record.meters))}
        names = ", ".join(_RUN_COLUMNS)
        marks = ", ".join("?" * len(_RUN_COLUMNS))
        with self._guard():
            self._connection.execute(
                f"INSERT INTO run (comparison, {names}) VALUES (?, {marks})",
                (comparison.id, *(values[name] for name in _RUN_COLUMNS)),
            )

    def records(self, comparison: Comparison) -> list[Record]:
        """Return all runs of a comparison, in the order in which they were made."""
        names = ", ".join(_RUN_COLUMNS)
        with self._guard():
            rows = self._connection.execute(
                f"SELECT {names} FROM run WHERE comparison = ? ORDER BY rowid", (comparison.id,)
            ).fetchall()
        with results.explain_damage(self.path):
            return [
                _of_its_types(Record, {**dict(row), "meters": json.loads(row["meters"])})
                for row in rows
            ]

    def finish(self, comparison: Comparison) -> None:
        """Mark a comparison as complete: all runs are made, all files written."""
        with self._guard():
            self._connection.execute(
                "UPDATE comparison SET finished = ? WHERE id = ?", (now(), comparison.id)
            )
