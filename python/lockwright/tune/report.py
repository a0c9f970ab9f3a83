"""The report on a race, in the form of a comparison's report."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from lockwright.compare.plan import Plan, cell_name
from lockwright.compare.report import has_fixed_time, report_on
from lockwright.compare.verdict import FIXED_TIME
from lockwright.experiment import Runs
from lockwright.experiment.report import Report
from lockwright.experiment.store import Stored
from lockwright.machine.meters import Meters
from lockwright.tune import race
from lockwright.tune.outcome import Outcome, decide, gained, no_gain, outcome
from lockwright.tune.preparation import FACTS, Preparation
from lockwright.tune.search import Search

ENDINGS = {
    race.ONE_LEFT: "one lock is left",
    race.ALL_NEAR: "no other lock can be better than the best by more than the margin",
    race.TIME_UP: "the budget is used up",
    race.ROUNDS_UP: "the rounds are used up",
    race.NONE_LEFT: "no lock is left",
}


def make_report(
    stored: Stored,
    plan: Plan,
    title: str,
    runs: Runs,
    endings: Mapping[int, int],
    meters: Meters | None = None,
    search: Search | None = None,
) -> Report:
    """Return the report. endings: of the races, by the number of threads; a race without one was
    stopped. search: that chose the locks."""
    begun = [count for count in plan.threads if any(r.cell == cell_name(count) for r in runs)]
    outcomes = [
        outcome(plan, runs, count, endings.get(count, race.TIME_UP), search) for count in begun
    ]
    preparation = Preparation.from_facts(stored.facts)
    is_fixed = has_fixed_time(stored.facts)
    made = report_on(
        stored,
        _entered(plan, runs),
        title,
        runs,
        [result.rows for result in outcomes],
        FIXED_TIME if is_fixed else decide(plan, outcomes, preparation),
        meters,
    )
    races = [_facts(plan, result) for result in outcomes]
    return replace(made, more={**made.more, FACTS: asdict(preparation) | {"races": races}})


def _entered(plan: Plan, runs: Runs) -> Plan:
    """Return the plan without the reserves that did not join."""
    needed = {run.contender for run in runs} | set(plan.locks) - set(plan.reserves)
    locks = tuple(lock for lock in plan.locks if lock in needed)
    return replace(
        plan, locks=locks, reserves=tuple(lock for lock in plan.reserves if lock in needed)
    )


def _facts(plan: Plan, result: Outcome) -> dict[str, Any]:
    """Return a race's part of the JSON file."""
    return {
        "threads": result.threads or None,
        "best": result.standing.best,
        "gain_shown": gained(result),
        "bound": result.bound,
        "no_gain": no_gain(plan, result),
        "ended": ENDINGS[result.ending],
        "left": result.standing.remaining,
        "joined": [row.contender for row in result.rows if row.contender in plan.reserves],
        "dropped": {lock: out._asdict() for lock, out in result.standing.dropped.items()},
    }
