"""The run time of the simulator."""

import time
from dataclasses import dataclass, replace

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Cell, Column, Contender, Experiment, Figure, Outcome, TableOf
from lockwright.experiment import columns as make
from lockwright.experiment.summary import Summary
from lockwright.simulate import machine as machines
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Line, Setup, catalogue, run_jobs

SECONDS = 0.01
"""Simulated seconds of each simulation."""

WALL = Figure("seconds", "s", lower_is_better=True, definition="wall time of all simulations.")


@dataclass(frozen=True)
class Work:
    """Simulations that are timed together. goal: the most seconds that they should take."""

    title: str
    goal: float
    machine: Machine
    cells: tuple[SimulatedCell, ...]


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


def all_work() -> list[Work]:
    """Return all locks with 64 threads, and one lock with 512."""
    locks = list(catalogue().locks)
    return [
        Work(
            f"all {len(locks)} locks, 64 threads, {1000 * SECONDS:g} ms on a-64",
            600,
            machines.load("a-64"),
            tuple(SimulatedCell(lock, 64) for lock in locks),
        ),
        Work(
            f"512 threads of mcs-spin, {1000 * SECONDS:g} ms on 512 cores",
            60,
            _machine_of_512(),
            (SimulatedCell("mcs-spin", 512),),
        ),
    ]


def _goal(row: Summary) -> str:
    goal = row.of_contender.subject.goal
    if row.median is None:
        return f"{goal:.0f} s"
    return f"{goal:.0f} s ({'met' if row.median <= goal else 'not met'})"


def speed(timeout: float) -> Experiment:
    """Return the experiment. timeout: seconds of each simulation."""

    def run(_: Cell, contender: Contender, __: int) -> Outcome:
        work: Work = contender.subject
        setup = Setup(work.machine, "single-lock", {}, SECONDS, 1)
        began = time.monotonic()

        def ended(job: Job, line: Line | None, failure: str) -> None:
            if line is None:
                raise LockwrightError(f"{job.cell.lock} was not simulated: {failure}", "see above")

        run_jobs([Job(setup, cell) for cell in work.cells], timeout, ended)
        seconds = time.monotonic() - began
        return Outcome(wall=seconds, figures={WALL.name: seconds})

    columns = [
        make.name("simulations"),
        make.median(WALL),
        Column("goal", "the most seconds that they should take.", _goal),
    ]
    return Experiment(
        "simulator-speed",
        [Cell("")],
        [Contender(each.title, subject=each) for each in all_work()],
        [WALL],
        run,
        1,
        tables=[TableOf(columns, lambda _: "Run time of the simulator")],
        what="simulations",
    )
