"""The report on a race, in the form of a comparison's report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from lockwright.compare import metered, warnings
from lockwright.compare.report import Report
from lockwright.compare.store import Comparison
from lockwright.compare.verdict import FIXED_TIME
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
    """Return the report. endings: of the races, by the number of threads; a race without one was
    stopped."""
    plan = comparison.plan
    begun = [count for count in plan.threads if any(r.threads == count for r in records)]
    outcomes = [outcome(plan, records, count, endings.get(count, race.TIME_UP)) for count in begun]
    preparation = Preparation.from_facts(comparison.provenance)
    races = [
        {
            "threads": result.threads or None,
            "best": result.standing.best,
            "gain_shown": gained(result),
            "bound": result.bound,
            "no_gain": no_gain(plan, result),
            "ended": ENDINGS[result.ending],
            "left": result.standing.remaining,
            "joined": [row.lock for row in result.rows if row.lock in plan.reserves],
            "dropped": {lock: out._asdict() for lock, out in result.standing.dropped.items()},
        }
        for result in outcomes
    ]
    verdict = FIXED_TIME if comparison.has_fixed_time else decide(plan, outcomes, preparation)
    comparison = _entered(comparison, records)
    plan = comparison.plan
    return Report(
        comparison,
        title,
        records,
        [result.rows for result in outcomes],
        warnings.collect(plan, records),
        verdict,
        metered.tables(plan, records, meters.idle if meters else None),
        meters.notes() if meters else [],
        {FACTS: asdict(preparation) | {"races": races}},
    )
