"""The results of a study in an SQLite file, each run committed as soon as it has ended.

The file has a rollback journal instead of a write-ahead log, so that all data are in one file even
after a kill or a power failure; a run takes far longer than a commit.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from lockwright.base import documents, results
from lockwright.base.errors import LockwrightError
from lockwright.run import resume

from lockwright_lab.study.campaign.plan import Configuration, Plan, difference
from lockwright_lab.study.campaign.run_record import Probe, RunRecord
from lockwright_lab.study.program.trial import Result

_FORMAT = 1
APPLICATION = 0x4C575354
"""`LWST`, in the file's header, which marks a study instead of a comparison."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS study (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    begun TEXT NOT NULL,
    finished TEXT,
    owner TEXT NOT NULL,
    plan TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS sitting (
    id INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    begun TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS probe (
    machine TEXT NOT NULL,
    setting TEXT NOT NULL,
    probe TEXT NOT NULL,
    UNIQUE (machine, setting)
);
CREATE TABLE IF NOT EXISTS run (
    place TEXT NOT NULL,
    program TEXT NOT NULL,
    lock TEXT NOT NULL,
    threads INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    pinning TEXT NOT NULL,
    round INTEGER NOT NULL,
    machine TEXT NOT NULL,
    sitting INTEGER REFERENCES sitting (id),
    started TEXT NOT NULL,
    outcome TEXT NOT NULL,
    note TEXT NOT NULL,
    value REAL,
    latency REAL,
    wall REAL NOT NULL,
    elapsed REAL NOT NULL,
    user REAL NOT NULL,
    system REAL NOT NULL,
    voluntary INTEGER NOT NULL,
    involuntary INTEGER NOT NULL,
    others REAL,
    status INTEGER,
    sums TEXT NOT NULL,
    meters TEXT NOT NULL,
    UNIQUE (place, program, lock, threads, nodes, pinning, round)
);
"""
_KEYS = [field.name for field in fields(Configuration)]
_RESULT = [field.name for field in fields(Result)]
_COLUMNS = ["place", *_KEYS, "round", "machine", "sitting", "started", *_RESULT]


class Store:
    """An open file of a study. Methods raise LockwrightError if access to the file fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sittings: dict[str, int] = {}
        with self._guard():
            self._connection = results.connect(path, _SCHEMA, _FORMAT, APPLICATION)
            self._connection.execute("PRAGMA synchronous = FULL")

    def _guard(self) -> AbstractContextManager[None]:
        return results.explain_errors(self.path, "the same command")

    def close(self) -> None:
        with self._guard():
            self._connection.close()

    def begin(self, plan: Plan) -> bool:
        """Register this process as the one that runs the study; return whether it is resumed.
        Raises LockwrightError if the file is of another plan, or of a study under way."""
        this_process = results.this_process()
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                row = self._connection.execute("SELECT * FROM study").fetchone()
                if row is None:
                    self._connection.execute(
                        "INSERT INTO study (id, name, begun, owner, plan) VALUES (1, ?, ?, ?, ?)",
                        (plan.name, results.now(), this_process, plan.to_json()),
                    )
                else:
                    self._check_plan(row, plan)
                    resume.check_not_running(_owner(row, self.path), "study")
                    self._connection.execute("UPDATE study SET owner = ?", (this_process,))
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
        return row is not None

    def check(self, plan: Plan) -> None:
        """Check the plan. Raises LockwrightError if the file is of another one."""
        with self._guard():
            row = self._connection.execute("SELECT * FROM study").fetchone()
        if row is not None:
            self._check_plan(row, plan)

    def _check_plan(self, row: sqlite3.Row, plan: Plan) -> None:
        with results.explain_damage(self.path):
            other = difference(plan.to_json(), row["plan"])
        if other:
            raise LockwrightError(
                f"{self.path} has the runs of a plan that differs in {other}",
                "undo the change to resume it, or name another file with --db",
            )

    def add_session(self, machine: str, facts: Mapping[str, Any]) -> None:
        """Add a session of a machine; its runs refer to these facts."""
        with self._guard():
            cursor = self._connection.execute(
                "INSERT INTO sitting (machine, begun, facts) VALUES (?, ?, ?)",
                (machine, results.now(), json.dumps(facts)),
            )
        assert cursor.lastrowid is not None
        self._sittings[machine] = cursor.lastrowid

    def facts(self, machine: str) -> dict[str, Any] | None:
        """Return the facts of a machine's first session; None if it had none."""
        with self._guard():
            row = self._connection.execute(
                "SELECT facts FROM sitting WHERE machine = ? ORDER BY id", (machine,)
            ).fetchone()
        with results.explain_damage(self.path):
            return documents.typed(dict, json.loads(row["facts"])) if row else None

    def machines(self) -> list[str]:
        """Return the machines that have taken part, each once."""
        with self._guard():
            rows = self._connection.execute(
                "SELECT machine FROM sitting GROUP BY machine ORDER BY min(id)"
            ).fetchall()
        return [row["machine"] for row in rows]

    def add_probe(self, probe: Probe) -> None:
        """Store a probe; it replaces an earlier one."""
        setting = json.dumps(asdict(probe.setting), sort_keys=True)
        with self._guard():
            self._connection.execute(
                "INSERT OR REPLACE INTO probe (machine, setting, probe) VALUES (?, ?, ?)",
                (probe.machine, setting, json.dumps(asdict(probe))),
            )

    def probes(self) -> list[Probe]:
        with self._guard():
            rows = self._connection.execute("SELECT probe FROM probe ORDER BY rowid").fetchall()
        with results.explain_damage(self.path):
            return [documents.typed(Probe, json.loads(row["probe"])) for row in rows]

    def add(self, place: str, run: RunRecord) -> None:
        """Store a run. place: its machine, or '' if machines share the runs."""
        values = [
            place,
            *asdict(run.slot.configuration).values(),
            run.slot.round,
            run.machine,
            self._sittings.get(run.machine),
            run.started,
            *(
                json.dumps(dict(value)) if isinstance(value, Mapping) else value
                for value in vars(run.result).values()
            ),
        ]
        marks = ", ".join("?" * len(_COLUMNS))
        with self._guard():
            self._connection.execute(
                f"INSERT INTO run ({', '.join(_COLUMNS)}) VALUES ({marks})", values
            )

    def runs(self) -> list[tuple[str, RunRecord]]:
        """Return all runs with the place of each, in the order in which they were stored."""
        with self._guard():
            rows = self._connection.execute("SELECT * FROM run ORDER BY rowid").fetchall()
        with results.explain_damage(self.path):
            return [(row["place"], _run_record(row)) for row in rows]

    def finish(self) -> None:
        with self._guard():
            self._connection.execute("UPDATE study SET finished = ?", (results.now(),))


def _owner(row: sqlite3.Row, path: Path) -> str:
    with results.explain_damage(path):
        return str(row["owner"])


def _run_record(row: sqlite3.Row) -> RunRecord:
    result = {name: row[name] for name in _RESULT}
    for name in ("sums", "meters"):
        result[name] = json.loads(result[name])
    configuration = {name: row[name] for name in _KEYS}
    slot = {"configuration": configuration, "round": row["round"]}
    values = {"slot": slot, "result": result, "machine": row["machine"], "started": row["started"]}
    return documents.typed(RunRecord, values)
