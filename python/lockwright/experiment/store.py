"""Experiments in an SQLite file; each run is committed as soon as it has ended.

Each run of an experiment has an index: cell, contender, round. A file has at most one run for each
index, and recorded runs are not repeated.
"""

import json
import math
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base import results
from lockwright.base.errors import LockwrightError
from lockwright.base.results import now, this_process
from lockwright.base.user_folders import user_folder
from lockwright.experiment.model import Run, Slot
from lockwright.run import resume

FORMAT = 2

_SCHEMA = """
CREATE TABLE IF NOT EXISTS experiment (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    plan TEXT NOT NULL,
    facts TEXT NOT NULL,
    owner TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT
);
CREATE TABLE IF NOT EXISTS session (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    machine TEXT NOT NULL,
    started TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS run (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    cell TEXT NOT NULL,
    contender TEXT NOT NULL,
    round INTEGER NOT NULL,
    machine TEXT NOT NULL,
    outcome TEXT NOT NULL,
    note TEXT NOT NULL,
    started TEXT NOT NULL,
    wall REAL NOT NULL,
    figures TEXT NOT NULL,
    details TEXT NOT NULL,
    UNIQUE (experiment, machine, cell, contender, round)
);
"""


@dataclass(frozen=True)
class Stored:
    """An experiment in a file, finished or not. plan: as of `Experiment.plan`; facts: of the
    machine and the build, with what was found out before the first counted run; owner: the process
    that carries it out, as named by `this_process`."""

    id: int
    kind: str
    plan: dict[str, Any]
    facts: dict[str, Any]
    owner: str
    started: str
    finished: str | None


@dataclass(frozen=True)
class Session:
    """What a machine reported when it began to make runs of an experiment."""

    machine: str
    started: str
    facts: dict[str, Any]


def default_path() -> Path:
    """Return the results file in the user's state directory."""
    return user_folder("XDG_STATE_HOME", "results", "name a file with --db") / "experiments.sqlite"


class Store:
    """An open results file. Methods raise LockwrightError if the file cannot be used.

    one_file: whether all data are in the file at any time, for a file that is copied while the
    experiment runs. Otherwise a write-ahead log beside it makes commits cheaper.
    """

    def __init__(self, path: Path, *, one_file: bool = False) -> None:
        self.path = path
        with self._guard():
            self._connection = results.connect(path, _SCHEMA, FORMAT)
            if one_file:
                self._connection.execute("PRAGMA synchronous = FULL")
            else:
                self._connection.execute("PRAGMA journal_mode = WAL")
                # This survives a kill at any moment, but not a crash of the kernel.
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def _guard(self) -> AbstractContextManager[None]:
        return results.explain_errors(self.path, "with --resume")

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        with self._guard():
            return self._connection.execute(query, values).fetchall()

    def _execute(self, statement: str, *values: object) -> int:
        """Execute a statement; return the id of the row that it has inserted."""
        with self._guard():
            return self._connection.execute(statement, values).lastrowid or 0

    def close(self) -> None:
        with self._guard():
            self._connection.close()

    def begin(self, kind: str, plan: Mapping[str, Any], facts: Mapping[str, Any]) -> Stored:
        """Add an experiment that this process carries out."""
        number = self._execute(
            "INSERT INTO experiment (kind, plan, facts, owner, started) VALUES (?, ?, ?, ?, ?)",
            *(kind, json.dumps(plan), json.dumps(facts, default=vars), this_process(), now()),
        )
        return self.experiment(number)

    def all_of(self, kind: str) -> list[Stored]:
        """Return all experiments of a kind, the first one first."""
        rows = self._rows("SELECT * FROM experiment WHERE kind = ? ORDER BY id", kind)
        return [self._stored(row) for row in rows]

    def unfinished(self, kind: str) -> list[Stored]:
        """Return all experiments of a kind that were interrupted or are under way, the latest
        first."""
        query = "SELECT * FROM experiment WHERE finished IS NULL AND kind = ? ORDER BY id DESC"
        return [self._stored(row) for row in self._rows(query, kind)]

    def experiment(self, number: int) -> Stored:
        """Return the experiment of that id. Raises LockwrightError if the file has none."""
        rows = self._rows("SELECT * FROM experiment WHERE id = ?", number)
        if not rows:
            raise LockwrightError(
                f"the results in {self.path} are damaged (no experiment {number})",
                "name another file with --db",
            )
        return self._stored(rows[0])

    def _stored(self, row: sqlite3.Row) -> Stored:
        with results.explain_damage(self.path):
            values = dict(row)
            for name in ("plan", "facts"):
                values[name] = _object(values[name])
            if not all(isinstance(values[name], str) for name in ("kind", "owner", "started")):
                raise TypeError("an experiment has values of other types")
            return Stored(**values)

    def adopt(self, stored: Stored) -> None:
        """Make this process the owner. Raises LockwrightError if the previous owner is alive."""
        resume.check_not_running(stored.owner, stored.kind)
        self._execute("UPDATE experiment SET owner = ? WHERE id = ?", this_process(), stored.id)

    def finish(self, stored: Stored) -> None:
        """Mark an experiment as complete: all runs are made, all files written."""
        self._execute("UPDATE experiment SET finished = ? WHERE id = ?", now(), stored.id)

    def add_session(self, stored: Stored, machine: str, facts: Mapping[str, Any]) -> None:
        """Add a session of a machine, whose runs follow."""
        self._execute(
            "INSERT INTO session (experiment, machine, started, facts) VALUES (?, ?, ?, ?)",
            *(stored.id, machine, now(), json.dumps(facts, default=vars)),
        )

    def sessions(self, stored: Stored) -> list[Session]:
        """Return all sessions of an experiment, the first one first."""
        query = "SELECT machine, started, facts FROM session WHERE experiment = ? ORDER BY id"
        rows = self._rows(query, stored.id)
        with results.explain_damage(self.path):
            return [Session(row["machine"], row["started"], _object(row["facts"])) for row in rows]

    def add(self, stored: Stored, run: Run) -> None:
        """Store a run."""
        self._execute(
            f"INSERT INTO run VALUES ({', '.join('?' * 11)})",
            *(stored.id, *run.slot, run.machine, run.ended, run.note, run.started, run.wall),
            *(json.dumps(dict(run.figures)), json.dumps(dict(run.details), default=vars)),
        )

    def runs(self, stored: Stored) -> list[Run]:
        """Return all runs of an experiment, in the order in which they were stored."""
        rows = self._rows("SELECT * FROM run WHERE experiment = ? ORDER BY rowid", stored.id)
        with results.explain_damage(self.path):
            return [run_of(row) for row in rows]


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"{text[:40]!r} is not a JSON object")
    return value


def run_of(row: sqlite3.Row) -> Run:
    """Return the run of a row. Raises ValueError or TypeError if it is damaged."""
    figures = _object(row["figures"])
    texts = [row[name] for name in ("cell", "contender", "machine", "outcome", "note", "started")]
    numbers = [row["wall"], *figures.values()]
    if not all(isinstance(text, str) for text in texts) or not isinstance(row["round"], int):
        raise TypeError("a run has values of other types")
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in numbers):
        raise TypeError("a run has a value that is not a number")
    return Run(
        row["outcome"],
        row["wall"],
        figures,
        row["note"],
        _object(row["details"]),
        Slot(row["cell"], row["contender"], row["round"]),
        row["started"],
        row["machine"],
    )
