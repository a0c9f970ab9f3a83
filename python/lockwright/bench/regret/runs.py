"""One run of the grid, and the file that has all of them."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.run.run_log import RunLog

ENOUGH_FAILURES = 2
"""After so many runs that failed, a lock is not run again in that cell."""


@dataclass(frozen=True)
class Run:
    """A run of a contender in a cell. rate: acquisitions per second, 0 if it failed before it was
    measured. longest, seconds: in seconds. processors: processor time per second. others: share of
    the processors that other programs used. samples: seconds since the change of
    regime, which are negative before it, and acquisitions.
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
        """Add a run."""
        self.by_place[run.cell, run.contender][run.round] = run

    def of(self, cell: str, contender: str) -> dict[int, Run]:
        """Return the runs of a contender in a cell that did not fail, by round."""
        found = self.by_place.get((cell, contender), {})
        return {
            round_number: run
            for round_number, run in sorted(found.items())
            if not run.failure and run.rate
        }

    def made(self, cell: str, contender: str) -> dict[int, Run]:
        """Return the same with those that failed."""
        return self.by_place.get((cell, contender), {})

    def figure(self, cell: str, contender: str, value: Callable[[Run], float]) -> dict[int, float]:
        """Return a figure of each run that did not fail, by round."""
        return {round_number: value(run) for round_number, run in self.of(cell, contender).items()}

    def gave_up(self, cell: str, contender: str) -> bool:
        """Return whether a contender failed so often in a cell that it does not survive it."""
        failures = sum(bool(run.failure) for run in self.made(cell, contender).values())
        return failures >= ENOUGH_FAILURES


def log(directory: Path) -> RunLog:
    """Return the file of the runs of a grid in a directory."""
    return RunLog(directory / "runs.jsonl", "grid")


def load(file: RunLog) -> tuple[dict[str, Any], Runs]:
    """Return the settings and the runs of a file. Raise LockwrightError if it cannot be resumed."""
    settings = file.settings()
    runs = Runs()
    for line in file.lines():
        if "cell" in line:
            samples = tuple((at, count) for at, count in line.pop("samples"))
            runs.add(Run(**line, samples=samples))
    return settings, runs
