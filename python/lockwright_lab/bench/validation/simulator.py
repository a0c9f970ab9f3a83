"""The experiment that compares simulated ranks of the locks with those of this machine."""

import os
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.experiment import (
    FAILED,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment.columns import term
from lockwright.experiment.report import Report
from lockwright.run.bench_program import Subject
from lockwright.simulate.figures import figures
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Setup

from lockwright_lab.bench import runs
from lockwright_lab.bench.parts import Parts
from lockwright_lab.bench.validation import agreement, tables
from lockwright_lab.bench.validation.agreement import BASELINE, Agreement, Measured, Metric
from lockwright_lab.simulate.one import simulated

WORKLOADS = (
    *("uncontested", "single-lock", "lockbench", "random-array", "ring-walker", "keymap"),
    *("lru-cache", "producer-consumer", "many-locks", "migration"),
)
"""Workloads of both programs, with the same parameters and defaults; sleep-period has no lock."""

THREADS = (1, 2, 4, 8, 32)

REAL, SIMULATED = "real", "simulated"

FACTOR = 1.5
"""Factor within which a simulated ratio to pthread agrees with the real one."""

METRIC = Metric(0.0, lambda quotient: 1 / FACTOR <= quotient <= FACTOR)

GOAL_TAU, GOAL_SHARE = 0.8, 0.9

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

COLUMNS = [
    term("workload", "a workload of lockwright bench and lockwright simulate, with its defaults."),
    term(
        "pairs",
        "pairs of locks that the real runs show to differ, by more than the ranges of their runs "
        "together, and all pairs.",
    ),
    term(
        "tau",
        "the number of threads, and Kendall's tau between the simulated and the real order of "
        "these pairs.",
    ),
    term(
        f"within {FACTOR:g}",
        "the share of the locks whose throughput over that of pthread is within a factor of "
        f"{FACTOR:g} of the real one.",
    ),
    term(
        "real round",
        "the same of a real round in the simulator's place, against the other rounds: what a "
        "perfect simulator of one run would reach.",
    ),
]


@dataclass(frozen=True)
class Lengths:
    """The lengths of all runs in seconds. timeout: of a real run, beside its setup. budget: time
    after which no further real run begins; None for all runs."""

    seconds: float
    warm_up: float
    timeout: float
    budget: float | None = None


def _simulated_name(lock: str) -> str:
    return f"{lock} {SIMULATED}"


def _is_real(contender: str) -> bool:
    return not contender.endswith(f" {SIMULATED}")


def cells(workloads: Sequence[str], threads: Sequence[int]) -> list[Cell]:
    """Return every workload with every number of threads."""
    return [
        Cell(f"{workload}/{count}", {"workload": workload, "threads": count})
        for workload in workloads
        for count in threads
    ]


def validation(
    machine: Machine,
    chosen: Sequence[Cell],
    locks: Sequence[Subject],
    parts: Collection[str],
    rounds: int,
    seeds: int,
    lengths: Lengths,
) -> Experiment:
    """Return the experiment, whose contenders are each lock, and each lock in the simulator. parts:
    REAL and SIMULATED, or one of them; the report includes those of earlier commands."""
    known: dict[str, object] = {}
    names = [each.name for each in locks]
    last = dict.fromkeys(names if REAL in parts else (), rounds)
    last |= dict.fromkeys(map(_simulated_name, names if SIMULATED in parts else ()), seeds)
    rule = Parts(
        RATE.name,
        max(rounds, seeds),
        rounds={each.name: last for each in chosen},
        is_timed=lambda slot: _is_real(slot.contender),
    )
    rule.end_after(lengths.budget)

    def run(at: Cell, contender: Contender, number: int) -> Outcome:
        if _is_real(contender.name):
            return _real(at.options, contender, lengths, known)
        return _simulated(machine, at.options, contender.subject.name, lengths, number)

    return Experiment(
        "simulator",
        chosen,
        [
            *(Contender(each.name, subject=each) for each in locks),
            *(Contender(_simulated_name(each.name), subject=each) for each in locks),
        ],
        [RATE],
        run,
        max(rounds, seeds),
        reference=BASELINE,
        settings={
            "machine": machine.name,
            "seconds": lengths.seconds,
            "warm-up": lengths.warm_up,
            "timeout": lengths.timeout,
        },
        tables=[TableOf([], rows=lambda _: False)],
        rule=rule,
        give_up_on=frozenset(),
        postponed=lambda slot: not _is_real(slot.contender),
        at_once=len(os.sched_getaffinity(0)),
        alone=lambda slot: _is_real(slot.contender),
        unfinished=lambda: not {REAL, SIMULATED} <= set(parts) or rule.is_late,
        first=runs.calibration,
        known=known,
        help="lockwright bench simulator --help",
        report=lambda usual: _report(usual, chosen, names, seeds),
    )


def _real(
    at: Mapping[str, Any], contender: Contender, lengths: Lengths, known: Mapping[str, object]
) -> Outcome:
    options = {
        "threads": at["threads"],
        "seconds": lengths.seconds,
        "warm-up": lengths.warm_up,
        **known,
    }
    timeout = lengths.timeout + SETUP_SECONDS.get(at["workload"], 0.0)
    made = runs.measure(contender, at["workload"], options, timeout)
    rate = runs.field("measured: operations_per_second")(made)
    # Threads that poll in a queue may end late after the measurement.
    return _with_rate(made, 0.0 if made.ended == FAILED else rate or 0.0)


def _simulated(
    machine: Machine, at: Mapping[str, Any], lock: str, lengths: Lengths, seed: int
) -> Outcome:
    share = SIMULATED_SHARES.get(at["workload"], 1.0)
    parameters = {**_AS_MEASURED, "warm-up": f"{share * lengths.warm_up:.12f}"}
    setup = Setup(machine, at["workload"], parameters, share * lengths.seconds, seed)
    made = simulated(
        Job(setup, SimulatedCell(lock, at["threads"])),
        SIMULATION_LIMIT,
        lambda line: _with_rate(Outcome(), figures(line)["operations_per_second"]),
    )
    return made if made.finished else _with_rate(made, 0.0)


def _with_rate(made: Outcome, rate: float) -> Outcome:
    """Return the outcome with its rate alone. A run without operations does not count, and is no
    failure of the validation."""
    details = {"others": made.details.get("others"), "reason": made.note}
    if rate > 0:
        return replace(made, figures={RATE.name: rate}, details=details)
    return Outcome(wall=made.wall, details=details | {"reason": made.note or "no operation"})


def agreed(made: Runs, chosen: Sequence[Cell], locks: Sequence[str], seeds: int) -> Agreement:
    """Return the agreement of the medians over the seeds 1 to `seeds` with the real rounds."""

    def expected(at: Cell) -> Iterator[tuple[str, float]]:
        for lock in locks:
            rates = made.values(at.name, _simulated_name(lock), RATE.name)
            if known := [rate for seed, rate in rates.items() if seed <= seeds]:
                yield lock, statistics.median(known)

    return Agreement.of(_cell(at, _by_lock(made, at, locks), dict(expected(at))) for at in chosen)


def ceiling(made: Runs, chosen: Sequence[Cell], locks: Sequence[str]) -> Agreement:
    """Return the agreement of each real round with the other ones: what a perfect simulator of one
    run would reach. A cell appears once for each round."""
    found = []
    for at in chosen:
        by_lock = _by_lock(made, at, locks)
        for left_out in sorted({number for rates in by_lock.values() for number in rates}):
            one = {lock: rates[left_out] for lock, rates in by_lock.items() if left_out in rates}
            others = {
                lock: {number: rate for number, rate in rates.items() if number != left_out}
                for lock, rates in by_lock.items()
            }
            found.append(_cell(at, others, one))
    return Agreement.of(found)


def _by_lock(made: Runs, at: Cell, locks: Sequence[str]) -> dict[str, dict[int, float]]:
    return {lock: made.values(at.name, lock, RATE.name) for lock in locks}


def _cell(
    at: Cell, real: Mapping[str, Mapping[int, float]], expected: Mapping[str, float]
) -> agreement.Cell | None:
    measured = {lock: Measured([*rates.values()]) for lock, rates in real.items() if rates}
    return agreement.cell(at.options["workload"], at.options["threads"], measured, expected, METRIC)


def sentences(found: Agreement, repeated: Agreement) -> list[str]:
    """Return the two figures of the validation, each with its goal, and their ceiling."""
    if not found.cells:
        return ["There are no cells with simulations and two rounds of real runs."]
    with_tau = sum(each.tau is not None for each in found.cells)
    near, of_round = (agreement.share(each.near) for each in (found, repeated))
    lines = [
        tables.goal(
            f"Kendall's tau, median of {with_tau} cells",
            found.median_tau,
            GOAL_TAU,
            "{:.2f}".format,
        ),
        tables.goal(
            f"Of {len(found.near)} ratios to pthread, within a factor of {FACTOR:g}",
            near,
            GOAL_SHARE,
            tables.percent,
        ),
    ]
    if of_round is not None:
        tau = repeated.median_tau
        text = "a tau needs three rounds" if tau is None else f"a median tau of {tau:.2f}"
        lines.append(
            f"One round of real runs in the simulator's place, against the others: {text}, "
            f"{tables.percent(of_round)} of the ratios."
        )
    return lines


def _order(part: Agreement) -> str:
    taus = [(each.threads, each.tau) for each in part.cells]
    return ", ".join(f"{n}: {'-' if tau is None else f'{tau:.2f}'}" for n, tau in taus)


def _report(usual: Report, chosen: Sequence[Cell], locks: Sequence[str], seeds: int) -> Report:
    found = agreed(usual.runs, chosen, locks, seeds)
    repeated = ceiling(usual.runs, chosen, locks)
    table = tables.by_subject("Simulated against real", COLUMNS, found, repeated, _order)
    lines = sentences(found, repeated) if len(usual.runs) else []
    for is_real, source in ((True, REAL), (False, SIMULATED)):
        failed = [
            f"{run.contender} {run.cell}"
            for run in usual.runs
            if RATE.name not in run.figures and _is_real(run.contender) == is_real
        ]
        if failed:
            names = ", ".join(dict.fromkeys(failed))
            lines.append(f"{len(failed)} {source} runs failed and do not count: {names}")
    grids = [table] if found.cells else []
    return replace(usual, grids=grids, legend=(), remarks=[*lines, *usual.remarks])
