"""The experiment that compares simulated ranks of the locks with those of this machine."""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.experiment import (
    FAILED,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment import Cell as ExperimentCell
from lockwright.experiment.model import Slot
from lockwright.experiment.report import Report
from lockwright.experiment.rules import Rounds, shuffled
from lockwright.run.bench_program import Subject
from lockwright.simulate.figures import figures
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Line, Setup, run_jobs

from lockwright_lab.bench import runs
from lockwright_lab.bench.validation import agreement, tables
from lockwright_lab.bench.validation.cells import REAL, SIMULATED, Cell, Rates, name_of

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

RATE = Figure("rate", "1/s", definition="operations per second.")


@dataclass(frozen=True)
class Lengths:
    """The lengths of all runs in seconds. timeout: of a real run, beside its setup. minutes: time
    after which no further real run begins; None for all runs."""

    seconds: float
    warm_up: float
    timeout: float
    minutes: float | None = None


@dataclass
class Parts(Rounds):
    """The rule by which only some parts are run: real and simulated locks, each in its rounds.
    last_of: of the parts to run; ends: the time after which no real run begins."""

    last_of: "dict[str, int] | None" = None
    ends: float | None = None

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        last = self.last_of or {}
        chosen = [name for name in contenders if number <= last.get(source_of(name), 0)]
        return shuffled(chosen, cell, number)

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        return not (self.is_late and source_of(slot.contender) == REAL)

    @property
    def is_late(self) -> bool:
        """True if no further real run begins."""
        return self.ends is not None and time.monotonic() > self.ends


def source_of(contender: str) -> str:
    """Return REAL or SIMULATED."""
    return SIMULATED if contender.endswith(f" {SIMULATED}") else REAL


def validation(
    machine: Machine,
    cells: Sequence[Cell],
    locks: Sequence[Subject],
    parts: Collection[str],
    rounds: int,
    seeds: int,
    lengths: Lengths,
    worst: int,
) -> Experiment:
    """Return the experiment, whose contenders are each lock, and each lock in the simulator. parts:
    REAL and SIMULATED, or one of them; the report includes those of earlier commands. worst: number
    of the ratios that are shown with the largest errors."""
    by_name = {each.name: each for each in cells}
    known: dict[str, object] = {}
    wanted = {REAL: rounds, SIMULATED: seeds}
    ends = None if lengths.minutes is None else time.monotonic() + 60 * lengths.minutes
    rule = Parts(
        RATE.name,
        max(rounds, seeds),
        last_of={name: last for name, last in wanted.items() if name in parts},
        ends=ends,
    )

    def run(cell: ExperimentCell, contender: Contender, number: int) -> Outcome:
        if source_of(contender.name) == REAL:
            return _real(by_name[cell.name], contender, lengths, known)
        lock = contender.subject.name
        return _simulated(machine, by_name[cell.name], lock, lengths, number)

    names = [each.name for each in locks]
    return Experiment(
        "simulator",
        [
            ExperimentCell(each.name, {"workload": each.workload, "threads": each.threads})
            for each in cells
        ],
        [
            Contender(name_of(source, each.name), subject=each)
            for source in (REAL, SIMULATED)
            for each in locks
        ],
        [RATE],
        run,
        max(rounds, seeds),
        reference=agreement.BASELINE,
        settings={
            "machine": machine.name,
            "seconds": lengths.seconds,
            "warm-up": lengths.warm_up,
            "timeout": lengths.timeout,
        },
        tables=[TableOf([], rows=lambda _: False)],
        rule=rule,
        give_up_on=frozenset(),
        postponed=lambda slot: source_of(slot.contender) == SIMULATED,
        at_once=len(os.sched_getaffinity(0)),
        alone=lambda slot: source_of(slot.contender) == REAL,
        unfinished=lambda: len(rule.last_of or ()) < len(wanted) or rule.is_late,
        first=runs.calibration,
        known=known,
        help="lockwright bench simulator --help",
        report=lambda usual: _report(usual, cells, names, seeds, worst),
    )


def _real(
    cell: Cell, contender: Contender, lengths: Lengths, known: Mapping[str, object]
) -> Outcome:
    options = {
        "threads": cell.threads,
        "seconds": lengths.seconds,
        "warm-up": lengths.warm_up,
        **known,
    }
    timeout = lengths.timeout + SETUP_SECONDS.get(cell.workload, 0.0)
    made = runs.measure(contender, cell.workload, options, timeout)
    rate = runs.field("measured: operations_per_second")(made)
    # Threads that poll in a queue may end late after the measurement.
    return _with_rate(made, 0.0 if made.ended == FAILED else rate or 0.0)


def _simulated(machine: Machine, cell: Cell, lock: str, lengths: Lengths, seed: int) -> Outcome:
    share = SIMULATED_SHARES.get(cell.workload, 1.0)
    parameters = {**_AS_MEASURED, "warm-up": f"{share * lengths.warm_up:.12f}"}
    setup = Setup(machine, cell.workload, parameters, share * lengths.seconds, seed)
    made: list[Outcome] = []
    began = time.monotonic()

    def store(_: Job, line: Line | None, failure: str) -> None:
        rate = 0.0 if line is None else figures(line)["operations_per_second"]
        made.append(_with_rate(Outcome(note=failure), rate))

    run_jobs([Job(setup, SimulatedCell(lock, cell.threads))], SIMULATION_LIMIT, store)
    return replace(made[0], wall=time.monotonic() - began)


def _with_rate(made: Outcome, rate: float) -> Outcome:
    """Return the outcome with its rate alone. A run without operations does not count, and is no
    failure of the validation."""
    details = {"others": made.details.get("others"), "reason": made.note}
    if rate > 0:
        return replace(made, figures={RATE.name: rate}, details=details)
    return Outcome(wall=made.wall, details=details | {"reason": made.note or "no operation"})


def _report(
    usual: Report, cells: Sequence[Cell], locks: Sequence[str], seeds: int, worst: int
) -> Report:
    rates = Rates(usual.runs)
    found = agreement.agreement(rates, cells, locks, seeds)
    repeated = agreement.repeatability(rates, cells, locks)
    grids = []
    if found.cells:
        grids = [tables.cells_table(found, repeated), tables.workloads_table(found, repeated)]
        grids += [tables.worst_table(found, worst)] if worst else []
    lines = tables.sentences(found, repeated) if len(usual.runs) else []
    for source in (REAL, SIMULATED):
        failed = [each for each in usual.runs if RATE.name not in each.figures]
        failed = [each for each in failed if source_of(each.contender) == source]
        if failed:
            names = dict.fromkeys(f"{run.contender} {run.cell}" for run in failed)
            lines.append(f"{len(failed)} {source} runs failed and do not count: {', '.join(names)}")
    return replace(usual, grids=grids, legend=(), remarks=[*lines, *usual.remarks])
