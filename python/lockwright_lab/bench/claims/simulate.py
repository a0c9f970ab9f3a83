"""The experiment of claims on simulated machines, each on that of its paper."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.experiment import FAILED, Cell, Contender, Experiment, Outcome, TableOf
from lockwright.experiment.report import Report
from lockwright.machine.meters import TOTAL, WINDOWED, joules_key
from lockwright.simulate import machine as machines
from lockwright.simulate.figures import figures as figures_of
from lockwright.simulate.run import Cell as SimulatedCell
from lockwright.simulate.run import Job, Line, Setup, catalogue, run_jobs

from lockwright_lab.bench.cases import METERS, Case, OnlySome, Results, cell_of
from lockwright_lab.bench.claims import show
from lockwright_lab.bench.claims.claim import Claim, all_cases
from lockwright_lab.bench.claims.evaluate import Machine, evaluate
from lockwright_lab.bench.claims.measure import RATE
from lockwright_lab.bench.claims.simulated_settings import (
    Setting,
    for_machine,
    inexpressible,
    setting_of,
)

_LONG_RUN = {"balanced": "1"}
"""The papers' runs last seconds, after which Linux has balanced the run queues."""


@dataclass(frozen=True)
class Prepared:
    """A claim with the numbers of threads of its machine. setting, machine: None if it cannot be
    simulated."""

    claim: Claim
    setting: Setting | None = None
    machine: machines.Machine | None = None

    @property
    def machine_name(self) -> str:
        return "" if self.machine is None else self.machine.name


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
    found = {}
    for each in chosen:
        if each.machine is not None:
            for case in all_cases([each.claim]):
                slot = cell_of(case, each.machine.name), case.contender
                found[slot] = case, each.machine
    return found


def job(case: Case, machine: machines.Machine, seed: int) -> Job:
    """Return the simulation of a case."""
    options = {name: value for name, value in case.options if name not in METERS}
    threads = int(options.pop("threads", "1"))
    seconds = float(options.pop("seconds"))
    parameters = _LONG_RUN | options
    setup = Setup(machine, case.workload, parameters, seconds, seed)
    return Job(setup, SimulatedCell(case.lock, threads), dict(case.environment))


def simulated(claims: Sequence[Claim], seeds: int, timeout: float) -> Experiment:
    """Return the experiment, whose rounds are the seeds 1 to `seeds`. timeout: seconds of each
    simulation. Raises LockwrightError if the simulator is not built."""
    chosen = prepare(claims)
    wanted = simulations(chosen)
    cells = dict.fromkeys(cell for cell, _ in wanted)
    contenders = {
        name: Contender(name, dict(case.environment)) for (_, name), (case, _) in wanted.items()
    }

    def run(cell: Cell, contender: Contender, seed: int) -> Outcome:
        case, machine = wanted[cell.name, contender.name]
        began = time.monotonic()
        made: list[Outcome] = []

        def store(_: Job, line: Line | None, failure: str) -> None:
            made.append(Outcome(FAILED, note=failure) if line is None else outcome_of(line))

        run_jobs([job(case, machine, seed)], timeout, store)
        return replace(made[0], wall=time.monotonic() - began)

    return Experiment(
        "simulated-claims",
        [Cell(name, {"cell": name}) for name in cells],
        list(contenders.values()),
        [RATE],
        run,
        seeds,
        reference="pthread",
        settings={"claims": [each.name for each in claims], "timeout": timeout},
        tables=[TableOf([], rows=lambda _: False)],
        rule=OnlySome(
            RATE.name,
            seeds,
            some={cell: [name for of_cell, name in wanted if of_cell == cell] for cell in cells},
        ),
        give_up_on=frozenset(),
        at_once=len(os.sched_getaffinity(0)),
        help="lockwright bench claims --help",
        report=lambda usual: _report(usual, chosen),
    )


def _report(usual: Report, chosen: Sequence[Prepared]) -> Report:
    known = frozenset(catalogue().locks)
    shown = []
    for each in chosen:
        processors = 1 if each.machine is None else each.machine.processors
        results = Results(usual.runs, each.machine_name)
        finding = evaluate(each.claim, results, Machine(processors, known), _range)
        title = "" if each.machine is None else each.machine.title
        differs = "" if each.setting is None else each.setting.nearest
        shown.append(show.Shown(finding, each.machine_name, title, differs, is_simulated=True))
    used = {each.machine.name: each.machine for each in chosen if each.machine is not None}
    of_machines = {
        name: {
            "title": each.title,
            "figures": dict(each.figures),
            "sources": dict(each.sources),
        }
        for name, each in used.items()
    }
    more = {"simulated": True, "machines": of_machines}
    return show.report(replace(usual, grids=(), more=more), show.SIMULATED, shown)


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def outcome_of(line: Line) -> Outcome:
    """Return a simulation as a run of the measuring program, so that the same statistics apply."""
    figures = figures_of(line)
    seconds = _number(line, "picoseconds") / 1e12
    operations = _number(line, "operations")
    measured: dict[str, object] = {
        "kind": "measured",
        "seconds": seconds,
        "operations": operations,
        "operations_per_second": operations / seconds,
        "voluntary": _number(line, "sleeps"),
        "gini": figures["gini"],
        "synchronisation_seconds": (_number(line, "running_ps") - _number(line, "working_ps"))
        / 1e12,
    }
    if operations:
        measured["acquisitions_per_message"] = _number(line, "acquisitions") / operations
    acquisition = {
        "kind": "latency",
        "what": "acquisition",
        "p99.9_ns": _number(line, "wait_p999_ps") / 1e3,
        "max_ns": _number(line, "wait_max_ps") / 1e3,
    }
    lines: list[Mapping[str, object]] = [measured, acquisition]
    if _number(line, "handed_over"):
        mean = _number(line, "handover_ps") / _number(line, "handed_over") / 1e3
        lines.append({"kind": "latency", "what": "handover", "mean_ns": mean})
    admissions: dict[str, object] = {"kind": "admissions", "mttr": figures["mttr"]}
    if _number(line, "lwss_windows"):
        admissions["average_lwss"] = figures["lwss"]
    lines.append(admissions)
    joules = _number(line, "picojoules") / 1e12
    meters = {WINDOWED: 1.0, joules_key(TOTAL[0]): joules}
    return Outcome(details={"lines": [dict(each) for each in lines], "meters": meters})


def _number(line: Line, name: str) -> float:
    value = line[name]
    assert isinstance(value, (int, float))
    return float(value)
