"""The simulations of claims, each on the machine of its paper, and their evaluation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.machine.meters import TOTAL, WINDOWED, joules_key
from lockwright.run.bench_program import Outcome
from lockwright.simulate import machine as machines
from lockwright.simulate.figures import figures as figures_of
from lockwright.simulate.run import Cell, Job, Line, Setup, catalogue, run_jobs

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.claims.claim import Claim, all_cases
from lockwright_lab.bench.claims.evaluate import Finding, Machine, evaluate
from lockwright_lab.bench.claims.simulated_settings import (
    Setting,
    for_machine,
    inexpressible,
    setting_of,
)
from lockwright_lab.bench.rounds import RoundResults

_LONG_RUN = {"balanced": "1"}
"""The papers' runs last seconds, after which Linux has balanced the run queues."""

_METERS = ("latency", "admissions")
"""Options that switch meters on; the simulator always has these figures."""


@dataclass(frozen=True)
class Experiment:
    """A claim with the numbers of threads of its machine. setting, machine: None if it cannot be
    simulated."""

    claim: Claim
    setting: Setting | None
    machine: machines.Machine | None


@dataclass
class Results:
    """The outcomes by machine, with seeds as rounds, and the failures."""

    by_machine: dict[str, RoundResults]
    failures: list[str]
    done: int = 0


def experiments(claims: Sequence[Claim]) -> list[Experiment]:
    """Return the claims with machines. Raises LockwrightError if the simulator is not built."""
    loaded: dict[str, machines.Machine] = {}
    prepared = []
    for claim in claims:
        if reason := inexpressible(claim):
            prepared.append(Experiment(replace(claim, elsewhere=reason), None, None))
            continue
        setting = setting_of(claim)
        machine = loaded.setdefault(setting.machine, machines.load(setting.machine))
        resolved = for_machine(claim, setting, machine.processors)
        prepared.append(Experiment(resolved, setting, machine))
    return prepared


def jobs(chosen: Sequence[Experiment], seeds: int) -> dict[Job, list[Case]]:
    """Return every simulation that the claims need, with its cases, seed after seed."""
    by_machine: dict[str, list[Experiment]] = {}
    for experiment in chosen:
        if experiment.machine is not None:
            by_machine.setdefault(experiment.machine.name, []).append(experiment)
    cases_by_job: dict[Job, list[Case]] = {}
    for seed in range(1, seeds + 1):
        for several in by_machine.values():
            machine = several[0].machine
            assert machine is not None
            same: dict[Case, list[Case]] = {}
            for case in all_cases([experiment.claim for experiment in several]):
                # Cases that differ only in their meters are one simulation.
                options = [(name, v) for name, v in case.options if name not in _METERS]
                same.setdefault(replace(case, options=tuple(options)), []).append(case)
            cases_by_job |= {_job(case, machine, seed): cases for case, cases in same.items()}
    return cases_by_job


def _job(case: Case, machine: machines.Machine, seed: int) -> Job:
    options = dict(case.options)
    threads = int(options.pop("threads", "1"))
    seconds = float(options.pop("seconds"))
    parameters = _LONG_RUN | options
    setup = Setup(machine, case.workload, parameters, seconds, seed)
    return Job(setup, Cell(case.lock, threads), dict(case.environment))


def simulate(
    chosen: Sequence[Experiment],
    seeds: int,
    timeout: float,
    results: Results,
    on_end: Callable[[Case], None],
) -> None:
    """Run all simulations, as many at a time as there are processors, and add them to `results`,
    which has those that ended before an interrupt."""
    wanted = jobs(chosen, seeds)

    def store(job: Job, line: Line | None, failure: str) -> None:
        cases = wanted[job]
        machine, seed = job.setup.machine.name, job.setup.seed
        if line is None:
            results.failures.append(f"{machine}, {cases[0].label()}, seed {seed}: {failure}")
        else:
            outcomes = results.by_machine.setdefault(machine, RoundResults())
            for case in cases:
                outcomes.add(case, seed, outcome_of(line))
        results.done += 1
        on_end(cases[0])

    run_jobs(list(wanted), timeout, store)


def findings(chosen: Sequence[Experiment], results: Results) -> list[Finding]:
    """Return the finding on each claim."""
    known = frozenset(catalogue().locks)
    evaluated = []
    for experiment in chosen:
        processors, outcomes = 1, RoundResults()
        if (machine := experiment.machine) is not None:
            processors = machine.processors
            outcomes = results.by_machine.get(machine.name, outcomes)
        evaluated.append(evaluate(experiment.claim, outcomes, Machine(processors, known), _range))
    return evaluated


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
    return Outcome(
        [dict(each) for each in lines], meters={WINDOWED: 1.0, joules_key(TOTAL[0]): joules}
    )


def _number(line: Line, name: str) -> float:
    value = line[name]
    assert isinstance(value, (int, float))
    return float(value)
