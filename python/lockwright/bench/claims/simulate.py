"""Simulates what claims need, each on the machine of its paper, and evaluates them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.bench.cases import Case
from lockwright.bench.claims.claim import Claim, all_cases
from lockwright.bench.claims.evaluate import Finding, Machine, evaluate
from lockwright.bench.claims.simulated_settings import (
    Setting,
    for_machine,
    inexpressible,
    setting_of,
)
from lockwright.bench.rounds import RoundResults
from lockwright.machine.meters import TOTAL, WINDOWED, joules_key
from lockwright.run.bench_program import Outcome
from lockwright.simulate import machine as machines
from lockwright.simulate import report
from lockwright.simulate.run import Cell, Job, Line, Orders, catalogue, run_jobs

_NAMES = {"mutexes": "locks"}
"""Options of the measuring program that the simulator calls otherwise."""

_METERS = ("latency", "admissions")
"""Options that switch on what the simulator always counts."""


@dataclass(frozen=True)
class Experiment:
    """A claim as it is simulated. setting: None if it cannot be. claim: with the machine's numbers
    of threads."""

    claim: Claim
    setting: Setting | None
    machine: machines.Machine | None


@dataclass
class Results:
    """The outcomes by machine and case, in the place of rounds those of each seed; and what
    failed."""

    by_machine: dict[str, RoundResults]
    failures: list[str]
    done: int = 0


def experiments(claims: Sequence[Claim]) -> list[Experiment]:
    """Each claim with its machine. Raises LockwrightError if the simulator is not built."""
    loaded: dict[str, machines.Machine] = {}
    found = []
    for claim in claims:
        if reason := inexpressible(claim):
            found.append(Experiment(replace(claim, elsewhere=reason), None, None))
            continue
        setting = setting_of(claim)
        on = loaded.setdefault(setting.machine, machines.load(setting.machine))
        found.append(Experiment(for_machine(claim, setting, on.processors), setting, on))
    return found


def jobs(chosen: Sequence[Experiment], seeds: int) -> dict[Job, list[Case]]:
    """Every simulation that the claims need, each once, with the cases that it is for; all of a
    seed before the next."""
    by_machine: dict[str, list[Experiment]] = {}
    for one in chosen:
        if one.machine is not None:
            by_machine.setdefault(one.machine.name, []).append(one)
    found: dict[Job, list[Case]] = {}
    for seed in range(1, seeds + 1):
        for several in by_machine.values():
            machine = several[0].machine
            assert machine is not None
            same: dict[Case, list[Case]] = {}
            for case in all_cases([one.claim for one in several]):
                # Cases that differ in their meters alone are one simulation.
                options = [(name, v) for name, v in case.options if name not in _METERS]
                same.setdefault(replace(case, options=tuple(options)), []).append(case)
            found |= {_job(case, machine, seed): cases for case, cases in same.items()}
    return found


def _job(case: Case, machine: machines.Machine, seed: int) -> Job:
    options = dict(case.options)
    threads = int(options.pop("threads", "1"))
    seconds = float(options.pop("seconds"))
    parameters = {_NAMES.get(name, name): value for name, value in options.items()}
    orders = Orders(machine, case.workload, parameters, seconds, seed)
    return Job(orders, Cell(case.lock, threads), dict(case.environment))


def simulate(
    chosen: Sequence[Experiment],
    seeds: int,
    timeout: float,
    results: Results,
    on_end: Callable[[Case], None],
) -> None:
    """Runs all simulations, as many at a time as there are processors, and adds them to
    `results`, which an interrupt leaves as they are by then."""
    wanted = jobs(chosen, seeds)

    def store(job: Job, line: Line | None, failure: str) -> None:
        cases = wanted[job]
        machine, seed = job.orders.machine.name, job.orders.seed
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
    """The result of each claim."""
    known = frozenset(catalogue().locks)
    found = []
    for one in chosen:
        processors = 1 if one.machine is None else one.machine.processors
        outcomes = RoundResults()
        if one.machine is not None:
            outcomes = results.by_machine.get(one.machine.name, outcomes)
        found.append(evaluate(one.claim, outcomes, Machine(processors, known), _range))
    return found


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def outcome_of(line: Line) -> Outcome:
    """A simulation as a run of the measuring program, so that the same statistics apply."""
    figures = report.figures(line)
    seconds = _number(line, "picoseconds") / 1e12
    done = _number(line, "operations")
    measured: dict[str, object] = {
        "kind": "measured",
        "seconds": seconds,
        "operations": done,
        "operations_per_second": done / seconds,
        "voluntary": _number(line, "sleeps"),
        "gini": figures["gini"],
        "synchronisation_seconds": (_number(line, "running_ps") - _number(line, "working_ps"))
        / 1e12,
    }
    if done:
        measured["acquisitions_per_message"] = _number(line, "acquisitions") / done
    lines: list[Mapping[str, object]] = [measured]
    lines.append(
        {
            "kind": "latency",
            "what": "acquisition",
            "p99.9_ns": _number(line, "wait_p999_ps") / 1e3,
            "max_ns": _number(line, "wait_max_ps") / 1e3,
        }
    )
    if _number(line, "handed_over"):
        mean = _number(line, "handover_ps") / _number(line, "handed_over") / 1e3
        lines.append({"kind": "latency", "what": "handover", "mean_ns": mean})
    admissions: dict[str, object] = {"kind": "admissions", "mttr": figures["mttr"]}
    if _number(line, "lwss_windows"):
        admissions["average_lwss"] = figures["lwss"]
    lines.append(admissions)
    joules = _number(line, "picojoules") / 1e12
    return Outcome(
        [dict(one) for one in lines], meters={WINDOWED: 1.0, joules_key(TOTAL[0]): joules}
    )


def _number(line: Line, name: str) -> float:
    value = line[name]
    assert isinstance(value, (int, float))
    return float(value)
