"""The report on a race, in the form of a comparison's report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from lockwright.compare import metered, warnings
from lockwright.compare.report import Report
from lockwright.compare.store import Comparison
from lockwright.machine.meters import Meters
from lockwright.run.record import Record
from lockwright.tune import race
from lockwright.tune.outcome import decide, gained, no_gain, outcome
from lockwright.tune.preparation import FACTS, Preparation

ENDINGS = {
    race.ONE_LEFT: "one lock is left",
    race.ALL_NEAR: "no other lock can be better than the best by more than the margin",
    race.TIME_UP: "the budget is used up",
    race.ROUNDS_UP: "the rounds are used up",
    race.NONE_LEFT: "no lock is left",
}


def _entered(comparison: Comparison, records: Sequence[Record]) -> Comparison:
    """Return the comparison without the reserves that did not join."""
    plan = comparison.plan
    needed = {run.lock for run in records} | set(plan.locks) - set(plan.reserves)
    locks = tuple(lock for lock in plan.locks if lock in needed)
    reserves = tuple(lock for lock in plan.reserves if lock in needed)
    return replace(comparison, plan=replace(plan, locks=locks, reserves=reserves))


def make_report(
    comparison: Comparison,
    title: str,
    records: Sequence[Record],
    endings: Mapping[int, int],
    meters: Meters | None = None,
) -> Report:
    """Return the report. endings: why the race at a number of threads ended; a race without an
    entry was stopped."""
    plan = comparison.plan
    begun = [each for each in plan.threads if any(r.threads == each for r in records)]
    outcomes = [outcome(plan, records, each, endings.get(each, race.TIME_UP)) for each in begun]
    preparation = Preparation.from_facts(comparison.provenance)
    races = [
        {
            "threads": each.threads or None,
            "best": each.standing.best,
            "gain_shown": gained(each),
            "bound": each.bound,
            "no_gain": no_gain(plan, each),
            "ended": ENDINGS[each.ending],
            "left": each.standing.remaining,
            "joined": [row.lock for row in each.rows if row.lock in plan.reserves],
            "dropped": {lock: gone._asdict() for lock, gone in each.standing.dropped.items()},
        }
        for each in outcomes
    ]
    found = decide(plan, outcomes, preparation)
    comparison = _entered(comparison, records)
    plan = comparison.plan
    return Report(
        comparison,
        title,
        records,
        [each.rows for each in outcomes],
        warnings.collect(plan, records),
        found,
        metered.tables(plan, records, meters.idle if meters else None),
        meters.notes() if meters else [],
        {FACTS: asdict(preparation) | {"races": races}},
    )
