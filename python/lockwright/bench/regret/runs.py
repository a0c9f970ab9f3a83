"""One run of the grid, and the file that has all of them."""

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.results import this_process
from lockwright.run import resume

SCHEMA = 1
"""Increased when a field changes its meaning or is removed."""

ENOUGH_FAILURES = 2
"""After so many runs that failed, a lock is not run again in that cell."""


@dataclass(frozen=True)
class Run:
    """A run of a contender in a cell. rate: acquisitions per second, 0 if it failed before it was
    measured. longest, seconds: in seconds. processors: processor time per second. others: share of
    the processors that other programs used. samples: seconds since the start, and acquisitions.
    """

    cell: str
    contender: str
    round: int
    rate: float = 0.0
    longest: float = 0.0
    processors: float = 0.0
    seconds: float = 0.0
    others: float | None = None
    failure: str = ""
    samples: tuple[tuple[float, float], ...] = ()


@dataclass
class Runs:
    """All runs, by cell, contender and round."""

    by_place: dict[tuple[str, str], dict[int, Run]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, run: Run) -> None:
        """Adds a run."""
        self.by_place[run.cell, run.contender][run.round] = run

    def of(self, cell: str, contender: str) -> dict[int, Run]:
        """The runs of a contender in a cell that did not fail, by round."""
        found = self.by_place.get((cell, contender), {})
        return {turn: run for turn, run in sorted(found.items()) if not run.failure and run.rate}

    def made(self, cell: str, contender: str) -> dict[int, Run]:
        """The same with those that failed."""
        return self.by_place.get((cell, contender), {})

    def figure(self, cell: str, contender: str, value: Callable[[Run], float]) -> dict[int, float]:
        """A figure of each run that did not fail, by round."""
        return {turn: value(run) for turn, run in self.of(cell, contender).items()}

    def gave_up(self, cell: str, contender: str) -> bool:
        """Return whether a contender failed so often in a cell that it does not survive it."""
        failures = sum(bool(run.failure) for run in self.made(cell, contender).values())
        return failures >= ENOUGH_FAILURES


def begin(path: Path, settings: Mapping[str, Any]) -> None:
    """Writes the first line. Raises LockwrightError if the file exists or cannot be written."""
    _append(path, {"schema": SCHEMA, **settings}, "x")


def adopt(path: Path) -> None:
    """Makes this process the owner. Raises LockwrightError if the last one is still alive."""
    owners = [line["owner"] for line in _lines(path) if "owner" in line]
    if owners:
        resume.check_owner(owners[-1], "measurement")
    if not path.read_bytes().endswith(b"\n"):
        # A kill has cut off the last line.
        with path.open("a") as file:
            file.write("\n")
    _append(path, {"owner": this_process()}, "a")


def add(path: Path, run: Run) -> None:
    """Appends one run."""
    _append(path, asdict(run), "a")


def load(path: Path) -> tuple[dict[str, Any], Runs]:
    """The settings and the runs of a file. Raises LockwrightError if it cannot be resumed."""
    try:
        with path.open(encoding="utf-8") as file:
            settings = json.loads(file.readline())
        version = settings.pop("schema")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LockwrightError(
            f"there is no grid in {path.parent} to resume", "leave out --resume to begin one"
        ) from error
    if version != SCHEMA:
        raise LockwrightError(
            f"the grid in {path.parent} is of another version", "begin one in another directory"
        )
    runs = Runs()
    for line in _lines(path):
        if "cell" in line:
            samples = tuple((at, count) for at, count in line.pop("samples"))
            runs.add(Run(**line, samples=samples))
    return settings, runs


def _lines(path: Path) -> list[dict[str, Any]]:
    """All lines after the first, less what a kill has cut off."""
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines()[1:]:
        with contextlib.suppress(ValueError):
            lines.append(json.loads(text))
    return lines


def _append(path: Path, line: Mapping[str, object], mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    except FileExistsError as error:
        raise LockwrightError(
            f"there is a grid in {path.parent}", "resume it with --resume, or give another -o"
        ) from error
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "free space, or give another -o"
        ) from error
