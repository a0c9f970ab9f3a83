"""The experiment of the claims on this machine."""

from collections.abc import Sequence
from dataclasses import replace

from lockwright.experiment import Cell, Contender, Experiment, Figure, Outcome, TableOf
from lockwright.experiment.report import Report
from lockwright.machine.energy import find
from lockwright.machine.meters import TREE, Meters
from lockwright.preload import locks
from lockwright.run.bench_program import LIBC, metered, subjects

from lockwright_lab.bench import runs
from lockwright_lab.bench.cases import OnlySome, Results, at_random, timing
from lockwright_lab.bench.claims import show
from lockwright_lab.bench.claims.claim import Claim, all_cases
from lockwright_lab.bench.claims.evaluate import Machine, evaluate, obstacle

RATE = Figure("rate", "1/s", value=runs.field("measured: operations_per_second"))
"""The figure of most claims, for the page; the others are computed from the lines of a run."""

_TO_END = 5.0
"""Seconds after its warm-up and measurement at which a run is killed. Threads that hand a lock over
to preempted waiters can end late; the measurement is printed before that."""


def this_machine() -> Machine:
    """Return the properties of this machine."""
    sources = find.find(TREE)
    built = frozenset([LIBC, *locks.registry().names])
    return Machine(runs.processors(), built, "" if sources.domains else sources.why())


def measured(
    claims: Sequence[Claim], machine: Machine, rounds: int, seconds: float, warm_up: float
) -> Experiment:
    """Return the experiment: in each round, every case of the claims that can be shown runs once,
    in a shuffled order. seconds, warm_up: of each run."""
    cases = all_cases([each for each in claims if not obstacle(each, machine)])
    by_cell = {each.cell: each for each in cases}
    by_name = {each.name: each for each in subjects("all", None)}
    meters = Meters(energy=not machine.no_energy)
    known: dict[str, object] = {}

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        case = by_cell[cell.name]
        options = {**timing(case.workload, seconds, warm_up), **known, **dict(case.options)}
        return runs.measure(contender, case.workload, options, seconds + warm_up + _TO_END)

    def report(usual: Report) -> Report:
        found = [evaluate(each, Results(usual.runs), machine) for each in claims]
        return show.report(usual, show.MEASURED, [show.Shown(each) for each in found])

    return Experiment(
        "claims",
        [Cell(name, {"cell": name}) for name in by_cell],
        list(
            {
                each.contender: Contender(
                    each.contender, dict(each.environment), by_name[each.lock]
                )
                for each in cases
            }.values()
        ),
        [RATE],
        run,
        rounds,
        reference=LIBC,
        settings={"seconds": seconds, "warm-up": warm_up},
        tables=[TableOf([], rows=lambda _: False)],
        rule=OnlySome(
            RATE.name,
            rounds,
            some={
                name: [each.contender for each in cases if each.cell == name] for name in by_cell
            },
        ),
        postponed=at_random,
        around=lambda: metered(meters),
        meters=meters,
        first=runs.calibration if cases else dict,
        known=known,
        help="lockwright bench claims --help",
        report=lambda usual: report(replace(usual, grids=())),
    )
