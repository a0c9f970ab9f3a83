"""The experiments of the claims: on this machine, or each on the simulated machine of its paper."""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.experiment import Cell, Contender, Experiment, Figure, Outcome, TableOf
from lockwright.experiment.model import Slot
from lockwright.experiment.report import Report
from lockwright.machine.energy.domains import find
from lockwright.machine.meters import TREE, Meters
from lockwright.preload import locks
from lockwright.run.bench_program import LIBC, metered, subjects
from lockwright.simulate import machine as machines
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Setup, catalogue

from lockwright_lab.bench import runs
from lockwright_lab.bench.cases import METERS, Case, Results, cell_of, timing
from lockwright_lab.bench.claims import report
from lockwright_lab.bench.claims.claim import Claim, all_cases
from lockwright_lab.bench.claims.evaluate import Machine, evaluate, obstacle
from lockwright_lab.bench.claims.simulated_line import outcome_of
from lockwright_lab.bench.claims.simulated_settings import (
    Setting,
    for_machine,
    inexpressible,
    setting_of,
)
from lockwright_lab.bench.parts import Parts
from lockwright_lab.simulate import one

RATE = Figure("rate", "1/s", value=runs.field("measured: operations_per_second"))
"""The figure of most claims, for the page; the others are computed from the lines of a run."""

_TO_END = 5.0
"""Seconds after its warm-up and measurement at which a run is killed. Threads that hand a lock over
to preempted waiters can end late; the measurement is printed before that."""

_LONG_RUN = {"balanced": "1"}
"""The papers' runs last seconds, after which Linux has balanced the run queues."""

Slots = Mapping[tuple[str, str], Contender]
"""The contender of each run, by the names of its cell and of itself."""


def _experiment(
    kind: str,
    slots: Slots,
    run: Callable[[Cell, Contender, int], Outcome],
    rounds: int,
    make_report: Callable[[Report], Report],
    **more: Any,
) -> Experiment:
    """Return the experiment in which each cell has its own contenders. more: fields of
    `Experiment`."""
    of_cell: dict[str, list[str]] = {}
    for cell, contender in slots:
        of_cell.setdefault(cell, []).append(contender)
    return Experiment(
        kind,
        [Cell(name, {"cell": name}) for name in of_cell],
        list({each.name: each for each in slots.values()}.values()),
        [RATE],
        run,
        rounds,
        tables=[TableOf([], rows=lambda _: False)],
        rule=Parts(
            RATE.name,
            rounds,
            rounds={cell: dict.fromkeys(names, rounds) for cell, names in of_cell.items()},
        ),
        help="lockwright bench claims --help",
        report=lambda usual: make_report(replace(usual, grids=())),
        **more,
    )


def this_machine() -> Machine:
    """Return the properties of this machine."""
    sources = find(TREE)
    built = frozenset([LIBC, *locks.registry().names])
    return Machine(runs.processors(), built, "" if sources.domains else sources.why())


def _at_random(slot: Slot) -> float:
    return random.Random(str(tuple(slot))).random()


def measured(
    claims: Sequence[Claim], machine: Machine, rounds: int, seconds: float, warm_up: float
) -> Experiment:
    """Return the experiment: in each round, every case of the claims that can be shown runs once,
    in a shuffled order. seconds, warm_up: of each run."""
    cases = all_cases([each for each in claims if not obstacle(each, machine)])
    by_slot = {(each.cell, each.contender): each for each in cases}
    by_name = {each.name: each for each in subjects("all", None)}
    meters = Meters(energy=not machine.no_energy)
    known: dict[str, object] = {}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        case = by_slot[cell.name, contender.name]
        options = {**timing(case.workload, seconds, warm_up), **known, **dict(case.options)}
        return runs.measure(contender, case.workload, options, seconds + warm_up + _TO_END)

    def made(usual: Report) -> Report:
        found = [evaluate(each, Results(usual.runs), machine) for each in claims]
        return report.report(usual, found)

    return _experiment(
        "claims",
        {
            slot: Contender(each.contender, dict(each.environment), by_name[each.lock])
            for slot, each in by_slot.items()
        },
        run,
        rounds,
        made,
        reference=LIBC,
        settings={"seconds": seconds, "warm-up": warm_up},
        postponed=_at_random,
        around=lambda: metered(meters),
        meters=meters,
        first=runs.calibration if cases else dict,
        known=known,
    )


@dataclass(frozen=True)
class Prepared:
    """A claim with the numbers of threads of its machine. setting, machine: None if it cannot be
    simulated."""

    claim: Claim
    setting: Setting | None = None
    machine: machines.Machine | None = None


def prepare(claims: Sequence[Claim]) -> list[Prepared]:
    """Return the claims with machines. Raises LockwrightError if the simulator is not built."""
    loaded: dict[str, machines.Machine] = {}
    prepared = []
    for claim in claims:
        if reason := inexpressible(claim):
            prepared.append(Prepared(replace(claim, elsewhere=reason)))
            continue
        setting = setting_of(claim)
        machine = loaded.setdefault(setting.machine, machines.load(setting.machine))
        resolved = for_machine(claim, setting, machine.processors)
        prepared.append(Prepared(resolved, setting, machine))
    return prepared


def simulations(chosen: Sequence[Prepared]) -> dict[tuple[str, str], tuple[Case, machines.Machine]]:
    """Return the case and the machine of every simulation that the claims need, by the names of its
    cell and its contender."""
    return {
        (cell_of(case, each.machine.name), case.contender): (case, each.machine)
        for each in chosen
        if each.machine is not None
        for case in all_cases([each.claim])
    }


def job(case: Case, machine: machines.Machine, seed: int) -> Job:
    """Return the simulation of a case."""
    options = {name: value for name, value in case.options if name not in METERS}
    threads = int(options.pop("threads", "1"))
    seconds = float(options.pop("seconds"))
    setup = Setup(machine, case.workload, _LONG_RUN | options, seconds, seed)
    return Job(setup, SimulatedCell(case.lock, threads), dict(case.environment))


def simulated(claims: Sequence[Claim], seeds: int, timeout: float) -> Experiment:
    """Return the experiment, whose rounds are the seeds 1 to `seeds`. timeout: seconds of each
    simulation. Raises LockwrightError if the simulator is not built."""
    chosen = prepare(claims)
    wanted = simulations(chosen)

    def run(cell: Cell, contender: Contender, seed: int) -> Outcome:
        case, machine = wanted[cell.name, contender.name]
        return one.simulated(job(case, machine, seed), timeout, outcome_of)

    return _experiment(
        "simulated-claims",
        {
            slot: Contender(case.contender, dict(case.environment))
            for slot, (case, _) in wanted.items()
        },
        run,
        seeds,
        lambda usual: _simulated_report(usual, chosen),
        reference="pthread",
        settings={"claims": [each.name for each in claims], "timeout": timeout},
        give_up_on=frozenset(),
        at_once=len(os.sched_getaffinity(0)),
    )


def _simulated_report(usual: Report, chosen: Sequence[Prepared]) -> Report:
    known, findings, on = frozenset(catalogue().locks), [], {}
    for each in chosen:
        machine, setting = each.machine, each.setting
        name, processors = ("", 1) if machine is None else (machine.name, machine.processors)
        results = Results(usual.runs, name)
        findings.append(evaluate(each.claim, results, Machine(processors, known), _range))
        if machine is not None and setting is not None:
            on[each.claim.name] = report.Simulated(machine.name, machine.title, setting.nearest)
    used = {each.machine.name: each.machine for each in chosen if each.machine is not None}
    described = {
        name: {"title": each.title, "figures": dict(each.figures), "sources": dict(each.sources)}
        for name, each in used.items()
    }
    return report.report(replace(usual, more={"machines": described}), findings, on)


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
