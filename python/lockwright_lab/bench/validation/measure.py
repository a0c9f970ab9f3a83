"""The runs of a validation, on this machine and in the simulator."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockwright.calibrate.report import progress
from lockwright.run.bench_program import Subject, number, run
from lockwright.simulate.figures import figures
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Line, Setup, run_jobs

from lockwright_lab.bench.validation.cells import Cell, Rate, Rates

REAL, SIMULATED = "real", "simulated"

SETUP_SECONDS = {"keymap": 0.7}
"""Time that a real run may take before its measurement: keymap inserts ten million keys."""

SIMULATION_LIMIT = 1800.0
"""Wall seconds of a simulation. It is far above what one takes, so that other work on the machine
removes none."""

SIMULATED_SHARES = {"uncontested": 0.125, "many-locks": 0.125}
"""Share of --seconds and --warm-up that is simulated, if not all. The threads of these workloads
never meet, so that their throughput does not depend on the time, and a simulation of 100 ms makes
many million acquisitions."""

_AS_MEASURED = {"main-thread": "1"}
"""The real runs have a main thread, whose wakes preempt others."""

_Add = Callable[[Rate], None]


@dataclass(frozen=True)
class RunLengths:
    """The lengths of all runs in seconds. loops_per_us: speed of the busy work on this machine.
    timeout: of a real run, beside its setup. minutes: time after which no further real run begins;
    None for all runs."""

    seconds: float
    warm_up: float
    loops_per_us: float
    timeout: float
    minutes: float | None = None


def measure_real(
    cells: Sequence[Cell],
    subjects: Sequence[Subject],
    rounds: int,
    lengths: RunLengths,
    rates: Rates,
    add: _Add,
) -> bool:
    """Make the missing real runs by rounds, the locks of a cell in an order shuffled for the round.
    Return True if none is missing then."""
    ends = None if lengths.minutes is None else time.monotonic() + 60 * lengths.minutes
    missing = []
    for round_number in range(rounds):
        for cell in cells:
            order = list(subjects)
            random.Random(f"{cell.name} {round_number}").shuffle(order)
            for subject in order:
                if not rates.has(REAL, cell, subject.name, round_number):
                    missing.append((round_number, cell, subject))
    with progress("simulator: real runs", len(missing)) as steps:
        for round_number, cell, subject in missing:
            if ends is not None and time.monotonic() > ends:
                return False
            steps.step(f"{subject.name}, {cell.name}")
            add(_real_run(round_number, cell, subject, lengths))
    return True


def _real_run(round_number: int, cell: Cell, subject: Subject, lengths: RunLengths) -> Rate:
    options = {
        "threads": cell.threads,
        "seconds": lengths.seconds,
        "warm-up": lengths.warm_up,
        "loops-per-us": lengths.loops_per_us,
    }
    timeout = lengths.timeout + SETUP_SECONDS.get(cell.workload, 0.0)
    outcome = run(subject, cell.workload, options, timeout=timeout)
    line = outcome.line("measured")
    rate = 0.0
    # Threads that poll in a queue may end late after the measurement.
    if line is not None and (outcome.timed_out or not outcome.failure):
        rate = number(line, "operations_per_second")
    failure = "" if rate > 0 else outcome.failure or "no operation"
    return Rate(REAL, cell.workload, cell.threads, subject.name, round_number, rate, failure)


def simulate(
    machine: Machine,
    cells: Sequence[Cell],
    locks: Sequence[str],
    seeds: int,
    lengths: RunLengths,
    rates: Rates,
    add: _Add,
) -> None:
    """Make the missing simulations with the seeds 1 to `seeds`, seed after seed."""
    jobs = {}
    for seed in range(1, seeds + 1):
        for cell in cells:
            share = SIMULATED_SHARES.get(cell.workload, 1.0)
            parameters = {**_AS_MEASURED, "warm-up": f"{share * lengths.warm_up:.12f}"}
            setup = Setup(machine, cell.workload, parameters, share * lengths.seconds, seed)
            for lock in locks:
                if not rates.has(SIMULATED, cell, lock, seed - 1):
                    jobs[Job(setup, SimulatedCell(lock, cell.threads))] = cell
    with progress("simulator: simulations", len(jobs)) as steps:

        def store(job: Job, line: Line | None, failure: str) -> None:
            cell = jobs[job]
            steps.step(f"{job.cell.lock}, {cell.name}")
            rate = 0.0 if line is None else figures(line)["operations_per_second"]
            failure = failure or ("" if rate > 0 else "no operation")
            number = job.setup.seed - 1
            add(Rate(SIMULATED, cell.workload, cell.threads, job.cell.lock, number, rate, failure))

        run_jobs(list(jobs), SIMULATION_LIMIT, store)
