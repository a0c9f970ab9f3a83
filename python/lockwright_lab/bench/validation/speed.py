"""The run time of the simulator."""

import time
from dataclasses import dataclass, replace

from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import progress
from lockwright.simulate import machine as machines
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell, Job, Line, Setup, catalogue, run_jobs

SECONDS = 0.01
"""Simulated seconds of each simulation."""


@dataclass(frozen=True)
class Speed:
    """The wall time of some simulations. goal: the most that it should be, in seconds."""

    title: str
    goal: float
    seconds: float

    @property
    def text(self) -> str:
        """One line that states the time and the goal."""
        verdict = "met" if self.seconds <= self.goal else "not met"
        return f"{self.title}: {self.seconds:.0f} s; the goal is {self.goal:.0f} s ({verdict})."


def _machine_of_512() -> Machine:
    """Return A-64 with eight packages of two nodes with 32 cores each."""
    base = machines.load("a-64")
    shape = {
        "shape.packages": 8.0,
        "shape.nodes_per_package": 2.0,
        "shape.caches_per_node": 16.0,
        "shape.cores_per_cache": 2.0,
    }
    return replace(base, name="512 cores", figures={**base.figures, **shape}, two_hops=())


def measure(timeout: float) -> list[Speed]:
    """Return the times of all locks with 64 threads, and of one lock with 512."""
    locks = list(catalogue().locks)
    return [
        _timed(
            f"All {len(locks)} locks, 64 threads, {1000 * SECONDS:g} ms on a-64",
            600,
            machines.load("a-64"),
            [Cell(lock, 64) for lock in locks],
            timeout,
        ),
        _timed(
            f"512 threads of mcs-spin, {1000 * SECONDS:g} ms on 512 cores",
            60,
            _machine_of_512(),
            [Cell("mcs-spin", 512)],
            timeout,
        ),
    ]


def _timed(title: str, goal: float, machine: Machine, cells: list[Cell], timeout: float) -> Speed:
    setup = Setup(machine, "single-lock", {}, SECONDS, 1)
    began = time.monotonic()
    with progress("simulator: speed", len(cells)) as steps:

        def ended(job: Job, line: Line | None, failure: str) -> None:
            steps.step(job.cell.lock)
            if line is None:
                raise LockwrightError(f"{job.cell.lock} was not simulated: {failure}", "see above")

        run_jobs([Job(setup, cell) for cell in cells], timeout, ended)
    return Speed(title, goal, time.monotonic() - began)
