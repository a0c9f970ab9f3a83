"""The cells of the validation: workloads that exist on the machine and in the simulator."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lockwright.base.errors import LockwrightError
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


@dataclass(frozen=True)
class Rate:
    """The throughput of a lock in a cell, of one real or simulated run.

    rate: operations per second; 0 if the run failed. round: of a simulation, its seed less one.
    """

    source: str
    workload: str
    threads: int
    lock: str
    round: int
    rate: float
    failure: str = ""

    @property
    def cell(self) -> Cell:
        return Cell(self.workload, self.threads)


@dataclass
class Rates:
    """All runs by source, cell, lock and round."""

    runs: dict[tuple[str, Cell, str], dict[int, Rate]] = field(default_factory=dict)

    def add(self, run: Rate) -> None:
        self.runs.setdefault((run.source, run.cell, run.lock), {})[run.round] = run

    def has(self, source: str, cell: Cell, lock: str, round_number: int) -> bool:
        """Return True if the run was made."""
        return round_number in self.runs.get((source, cell, lock), {})

    def of(self, source: str, cell: Cell, lock: str, *, rounds: int | None = None) -> list[float]:
        """Return the rates of the runs that did not fail, of the first rounds or of all."""
        runs = self.runs.get((source, cell, lock), {})
        return [
            run.rate
            for number, run in runs.items()
            if run.rate > 0 and (rounds is None or number < rounds)
        ]

    def by_round(self, source: str, cell: Cell) -> dict[int, dict[str, float]]:
        """Return the rates of a cell by round and lock, of the runs that did not fail."""
        rounds: dict[int, dict[str, float]] = {}
        for (run_source, run_cell, lock), runs in self.runs.items():
            if (run_source, run_cell) == (source, cell):
                for number, run in runs.items():
                    if run.rate > 0:
                        rounds.setdefault(number, {})[lock] = run.rate
        return rounds

    def failures(self, source: str) -> list[Rate]:
        """Return the runs that failed."""
        return [
            run
            for (run_source, _, _), runs in self.runs.items()
            if run_source == source
            for run in runs.values()
            if run.failure
        ]


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
