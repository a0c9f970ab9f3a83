"""The runs of a validation, on this machine and in the simulator."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockwright.bench.report import progress
from lockwright.bench.validation.cells import Cell, Rate, Rates
from lockwright.run.bench_program import Subject, number, run
from lockwright.simulate import report
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Line, Orders, run_jobs

REAL, SIMULATED = "real", "simulated"

_Add = Callable[[Rate], None]


@dataclass(frozen=True)
class Pace:
    """The lengths of all runs in seconds. loops_per_us: of the busy work on this machine. minutes:
    after so many no further run begins; None for all runs."""

    seconds: float
    warm_up: float
    loops_per_us: float
    timeout: float
    minutes: float | None = None


def measure_real(
    cells: Sequence[Cell],
    subjects: Sequence[Subject],
    rounds: int,
    pace: Pace,
    made: Rates,
    add: _Add,
) -> bool:
    """Make the real runs that are missing, all of a round before the next, the locks of a cell in
    an order shuffled for the round. Return whether none is missing then."""
    ends = None if pace.minutes is None else time.monotonic() + 60 * pace.minutes
    todo = []
    for turn in range(rounds):
        for cell in cells:
            order = list(subjects)
            random.Random(f"{cell.name} {turn}").shuffle(order)
            todo += [(turn, cell, subject) for subject in order]
    todo = [one for one in todo if not made.has(REAL, one[1], one[2].name, one[0])]
    with progress("simulator: real runs", len(todo)) as steps:
        for turn, cell, subject in todo:
            if ends is not None and time.monotonic() > ends:
                return False
            steps.step(f"{subject.name}, {cell.name}")
            add(_real_run(turn, cell, subject, pace))
    return True


def _real_run(turn: int, cell: Cell, subject: Subject, pace: Pace) -> Rate:
    given = {
        "threads": cell.threads,
        "seconds": pace.seconds,
        "warm-up": pace.warm_up,
        "loops-per-us": pace.loops_per_us,
    }
    outcome = run(subject, cell.workload, given, timeout=pace.timeout)
    line = outcome.line("measured")
    # Threads that poll in a queue may need long to end after the measurement.
    counts = line is not None and (outcome.timed_out or not outcome.failure)
    rate = number(line, "operations_per_second") if counts and line is not None else 0.0
    failure = "" if rate > 0 else outcome.failure or "no operation"
    return Rate(REAL, cell.workload, cell.threads, subject.name, turn, rate, failure)


def simulate(
    machine: Machine,
    cells: Sequence[Cell],
    locks: Sequence[str],
    pace: Pace,
    made: Rates,
    add: _Add,
) -> None:
    """Simulate what is missing."""
    parameters = {"warm-up": f"{pace.warm_up:.12f}"}
    jobs = {}
    for cell in cells:
        orders = Orders(machine, cell.workload, parameters, pace.seconds, 1)
        for lock in locks:
            if not made.has(SIMULATED, cell, lock, 0):
                jobs[Job(orders, SimulatedCell(lock, cell.threads))] = cell
    with progress("simulator: simulations", len(jobs)) as steps:

        def store(job: Job, line: Line | None, failure: str) -> None:
            cell = jobs[job]
            steps.step(f"{job.cell.lock}, {cell.name}")
            rate = 0.0 if line is None else report.figures(line)["operations_per_second"]
            why = failure or ("" if rate > 0 else "no operation")
            add(Rate(SIMULATED, cell.workload, cell.threads, job.cell.lock, 0, rate, why))

        run_jobs(list(jobs), pace.timeout * 20, store)
