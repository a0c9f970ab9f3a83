"""The runs of a grid, and their file."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.run.run_log import RunLog

ENOUGH_FAILURES = 2
"""Number of failed runs after which a lock is not run again in that cell."""


@dataclass(frozen=True)
class Run:
    """A run of a contender in a cell.

    rate: acquisitions per second, 0 if it failed. longest: the longest wait in seconds. seconds:
    wall time. processors: processor time per second. others: share of the processors that other
    programs used. samples: seconds since the change of regime, negative before it, and the
    acquisitions by then.
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

    by_cell_and_contender: dict[tuple[str, str], dict[int, Run]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def add(self, run: Run) -> None:
        self.by_cell_and_contender[run.cell, run.contender][run.round] = run

    def of(self, cell: str, contender: str) -> dict[int, Run]:
        """Return the runs of a contender in a cell that did not fail, by round."""
        runs = sorted(self.made(cell, contender).items())
        return {number: run for number, run in runs if not run.failure and run.rate}

    def made(self, cell: str, contender: str) -> dict[int, Run]:
        """Return all runs of a contender in a cell, also those that failed, by round."""
        return self.by_cell_and_contender.get((cell, contender), {})

    def figure(self, cell: str, contender: str, value: Callable[[Run], float]) -> dict[int, float]:
        """Return a figure of each run that did not fail, by round."""
        return {round_number: value(run) for round_number, run in self.of(cell, contender).items()}

    def gave_up(self, cell: str, contender: str) -> bool:
        """Return True if a contender failed so often in a cell that it does not survive it."""
        failures = sum(bool(run.failure) for run in self.made(cell, contender).values())
        return failures >= ENOUGH_FAILURES


def log(directory: Path) -> RunLog:
    """Return the file of the runs of a grid in a directory."""
    return RunLog(directory / "runs.jsonl", "grid")


@dataclass(frozen=True)
class _Settings:
    """The first line of a file: the options of the command, times in seconds and longest_wait in
    milliseconds, and the conditions of the measurement."""

    lock: str
    against: str | None
    cells: str | None
    quick: bool
    ablate: bool
    machine: str | None
    runs: int
    seconds: float
    warm_up: float
    timeout: float | None
    longest_wait: float
    loops_per_us: float
    processors: int
    started: str
    facts: dict[str, Any]

    def __post_init__(self) -> None:
        for name in ("runs", "seconds", "longest_wait", "processors"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}")


@dataclass(frozen=True)
class _StoredRun(Run):
    """A line of a file."""

    def __post_init__(self) -> None:
        for name in ("rate", "longest", "processors", "seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}")


def load(file: RunLog) -> tuple[dict[str, Any], Runs]:
    """Return the settings and runs of a file. Raises LockwrightError if it cannot be resumed."""
    settings = file.settings(_Settings)
    runs = Runs()
    for run in file.records("cell", _StoredRun):
        runs.add(run)
    return dict(vars(settings)), runs
