"""A comparison as an experiment: a cell for each number of threads, a contender for each lock."""

from collections.abc import Callable, Iterable

from lockwright.compare.plan import UNSPECIFIED, Plan, cell_name
from lockwright.compare.runner import VALUE, Runner
from lockwright.experiment import (
    TIMEOUT,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Run,
    Runs,
    Summary,
)
from lockwright.experiment.rules import Rounds
from lockwright.machine.meters import Meters
from lockwright.preload.locks import Registry

Make = Callable[[Cell, Contender, int], Outcome]

COMPARISON, TUNING = "comparison", "tuning"
"""Kinds of experiments: every lock makes all runs, or locks drop out."""


def declare(
    plan: Plan, make: Make, *, meters: Meters | None = None, rule: Rounds | None = None
) -> Experiment:
    """Return the experiment. make: makes a run; rule: which locks run in a round."""
    return Experiment(
        COMPARISON if plan.budget is None else TUNING,
        plan.cells,
        [Contender(lock) for lock in plan.locks],
        [Figure(VALUE, plan.unit, plan.lower_is_better)],
        make,
        plan.runs,
        plan.warmup if rule is None else 0,
        plan.reference,
        settings=plan.stored(),
        rule=rule,
        give_up_on=frozenset({TIMEOUT}) if rule is None else frozenset(),
        cell_by_cell=True,
        meters=meters,
    )


def runs_of(plan: Plan, runner: Runner, registry: Registry) -> Make:
    """Return the function that makes the runs of a plan by a runner."""
    libraries = {lock: plan.path_of(lock, registry) for lock in plan.locks}

    def make(cell: Cell, contender: Contender, _: int) -> Outcome:
        threads, lock = cell.options["threads"] or UNSPECIFIED, contender.name
        return runner.measure(threads, lock, libraries[lock])

    return make


def no_runs(_cell: Cell, _contender: Contender, _round: int) -> Outcome:
    """Make no run: for a report on runs that were made before."""
    raise AssertionError("no run is left to make")


def ranking(plan: Plan, runs: Iterable[Run], threads: int) -> list[Summary]:
    """Return the results of each lock at a number of threads, the best first, with marks."""
    return declare(plan, no_runs).ranking(Runs(runs), cell_name(threads))
