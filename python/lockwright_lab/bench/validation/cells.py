"""The cells of the validation: workloads that exist on the machine and in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Runs
from lockwright.simulate.run import catalogue

WORKLOADS = (
    "uncontested",
    "single-lock",
    "lockbench",
    "random-array",
    "ring-walker",
    "keymap",
    "lru-cache",
    "producer-consumer",
    "many-locks",
    "migration",
)
"""Workloads of both programs, with the same parameters and defaults; sleep-period has no lock."""

THREADS = (1, 2, 4, 8, 32)


@dataclass(frozen=True)
class Cell:
    """A workload with a number of threads."""

    workload: str
    threads: int

    @property
    def name(self) -> str:
        """A name such as `single-lock/8`."""
        return f"{self.workload}/{self.threads}"


REAL, SIMULATED = "real", "simulated"


def name_of(source: str, lock: str) -> str:
    """Return the name of a contender: a lock, real or simulated."""
    return lock if source == REAL else f"{lock} {SIMULATED}"


@dataclass(frozen=True)
class Rates:
    """The throughputs in operations per second, by source, cell, lock and round; of a simulation
    the round is its seed."""

    runs: Runs

    def of(self, source: str, cell: Cell, lock: str, *, rounds: int | None = None) -> list[float]:
        """Return the rates of the runs that did not fail, of the first rounds or of all."""
        values = self.runs.values(cell.name, name_of(source, lock), "rate")
        return [
            rate
            for number, rate in values.items()
            if rate > 0 and (rounds is None or number <= rounds)
        ]

    def by_round(
        self, source: str, cell: Cell, locks: Sequence[str]
    ) -> dict[int, dict[str, float]]:
        """Return the rates of a cell by round and lock, of the runs that did not fail."""
        rounds: dict[int, dict[str, float]] = {}
        for lock in locks:
            values = self.runs.values(cell.name, name_of(source, lock), "rate")
            for number, rate in values.items():
                if rate > 0:
                    rounds.setdefault(number, {})[lock] = rate
        return dict(sorted(rounds.items()))


def chosen_workloads(text: str | None) -> list[str]:
    """Return the workloads of a comma-separated list, all of WORKLOADS for None.

    Raises LockwrightError for another name.
    """
    if text is None:
        return [name for name in WORKLOADS if name in catalogue().workloads]
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in WORKLOADS:
            raise LockwrightError(
                f"'{name}' is no workload of both the machine and the simulator",
                f"choose from {', '.join(WORKLOADS)}",
            )
    if not names:
        raise LockwrightError("--workloads names no workload", "give names, or omit it")
    return list(dict.fromkeys(names))


def cells(workloads: Sequence[str], threads: Sequence[int]) -> list[Cell]:
    """Return every workload with every number of threads."""
    return [Cell(workload, count) for workload in workloads for count in threads]
