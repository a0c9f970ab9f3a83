"""The state of a race at one number of threads, by the runs made so far.

Successive elimination (Even-Dar, Mannor and Mansour, Action elimination and stopping conditions for
the multi-armed bandit, Journal of Machine Learning Research 7, 2006): all remaining locks run once
in each round, then those shown to be worse than another drop out. Two locks are compared by the
logarithms of their ratios in the rounds that both have run, with intervals that stay valid when
they are computed repeatedly. The best lock drops out only if one of its intervals, one for each
other lock, is wrong, so the chance of error is divided among these.
"""

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.compare.plan import Plan, cell_name
from lockwright.compare.runner import VALUE
from lockwright.experiment import TIMEOUT, Run
from lockwright.machine.load import BUSY
from lockwright.stats.sequential import ERROR, Interval, interval, shared_deviation

TOO_SLOW = 3.0
"""Multiple of the fastest lock's median after which a run is killed."""

LEAST_LIMIT = 1.0
"""Seconds that a run may take in any case."""

LEAST_ROUNDS = 5
"""Least number of rounds of the best lock and of the reference, for a reasonably certain gain."""

ONE_LEFT, ALL_NEAR, TIME_UP, ROUNDS_UP, NONE_LEFT = range(5)
"""Reasons for the end of a race: one lock is left; no remaining lock can be better than the best by
more than the margin, or none can gain; the budget is used up; the rounds are used up; no lock is
left."""

WORSE, SLOW, FAILED, BEHIND, NO_GAIN = "worse", "slow", "failed", "behind", "no gain"
SEARCHED = "searched"
"""Reasons why a lock drops out: it is shown to be worse than another; its runs do not end in time;
a run fails; it is set aside; it is shown to beat the reference by no more than the margin; or the
search for finalists set it aside."""

CUTS = (1 / 3, 2 / 3)
"""Shares of the budget after which the worse half of the remaining locks is set aside, so that the
others run more often: where runs vary much, no difference may be shown by then (sequential
halving: Karnin, Koren and Somekh, Almost optimal exploration in multi-armed bandits, International
Conference on Machine Learning, 2013)."""

_RESERVES_SHARE = 0.2
"""Share of the chance of error for comparisons with reserves; a small share leaves the intervals of
the others hardly wider."""

_SWEEPS = 20
"""Iterations of a fit, each of which at least halves the residual."""


class Exit(NamedTuple):
    """The exit of a lock. how: the reason; after: rounds; than: the lock that is better."""

    how: str
    after: int
    than: str = ""
    note: str = ""


@dataclass(frozen=True)
class Standing:
    """The state of a race. remaining: locks, the best first; dropped: the others."""

    remaining: tuple[str, ...]
    dropped: Mapping[str, Exit]
    rounds: int

    @property
    def best(self) -> str | None:
        """The leading lock; None if all have dropped out."""
        return self.remaining[0] if self.remaining else None


class RaceRuns:
    """The runs of a race at one number of threads, up to a round."""

    def __init__(
        self, plan: Plan, threads: int, runs: Iterable[Run], rounds: int | None = None
    ) -> None:
        """Sort the runs by lock. rounds: the number of rounds to use; None for all."""
        self._plan = plan
        cell = cell_name(threads)
        counted = [run for run in runs if run.cell == cell and run.counted]
        self._runs: dict[str, list[Run]] = {lock: [] for lock in plan.locks}
        for run in counted:
            if rounds is None or run.round <= rounds:
                self._runs[run.contender].append(run)
        sign = -1 if plan.lower_is_better else 1
        self._logs = {
            lock: {r.round: sign * math.log(value) for r in runs if (value := self._value(r)) > 0}
            for lock, runs in self._runs.items()
        }
        self._waiting = {lock for lock in plan.reserves if not self._runs[lock]}
        self._reserves = frozenset(plan.reserves)
        first = len(plan.locks) - len(plan.reserves) - 1
        waiting = max(1, len(plan.reserves))
        share = _RESERVES_SHARE if plan.reserves and first else 0.0
        self._error = ERROR * (1 - share) / (first or waiting)
        self._error_of_reserves = ERROR * share / waiting if first else self._error
        self._kept = frozenset((plan.reference, *plan.kept))
        others = [lock for lock in plan.locks if lock != plan.reference]
        self._shared_deviation = shared_deviation(
            [self._differences(lock, plan.reference) for lock in others]
        )

    def _value(self, run: Run) -> float:
        """Return the value of a run; 0 if it has none. A killed run counts with its time, without
        which the lock would seem better than it is."""
        if run.ended == TIMEOUT and self._plan.metric is None:
            return run.wall
        return run.figures.get(VALUE, 0.0)

    def lead(self, lock: str, other: str, shared: bool = False) -> Interval:
        """Return the logarithm of the ratio by which a lock is better than another. shared: whether
        the deviation of all locks is used where it is larger than that of these two and has more
        degrees of freedom, which decides earlier. The final result on a lock uses its own runs
        alone, unless they are too few."""
        values = self._differences(lock, other)
        no_reserve = self._reserves.isdisjoint((lock, other))
        error = self._error if no_reserve else self._error_of_reserves
        return interval(values, error, self._shared_deviation if shared else None)

    def _differences(self, lock: str, other: str) -> list[float]:
        first, second = self._logs[lock], self._logs[other]
        return [first[number] - second[number] for number in sorted(first.keys() & second.keys())]

    def relative(self, lock: str, reference: str) -> list[float]:
        """Return the logarithms of a lock's rounds relative to the reference in the same round, or
        to its mean where it has no value."""
        level = self._logs[reference]
        mean = statistics.fmean(level.values()) if level else 0.0
        return [value - level.get(number, mean) for number, value in self._logs[lock].items()]

    def exit(self, lock: str) -> Exit | None:
        """Return the exit of a lock by its own runs; None if it remains."""
        runs = self._runs[lock]
        unfinished = [r for r in runs if r.figures.get(VALUE, 0.0) <= 0]
        failed = [r for r in unfinished if r.ended != TIMEOUT]
        if failed:
            return Exit(
                FAILED, failed[0].round, note=failed[0].note or "its figure is not positive"
            )
        finished = len(runs) - len(unfinished)
        # Other load on the processors may have delayed the run.
        disturbed = any(r.others is not None and r.others > BUSY for r in unfinished)
        if len(unfinished) > finished and (len(unfinished) > 1 or not disturbed):
            return Exit(SLOW, unfinished[-1].round)
        return None

    def standing(self, searched: Collection[str] = (), finalists: Collection[str] = ()) -> Standing:
        """Return the remaining and the dropped locks. searched: locks of which only the finalists
        remain; without any, the worse half is set aside from time to time."""
        entered = [lock for lock in self._plan.locks if lock not in self._waiting]
        dropped = {lock: out for lock in entered if (out := self.exit(lock)) is not None}
        running = [lock for lock in entered if lock not in dropped]
        for lock in running:
            if (beaten := self._beaten(lock, running)) is not None:
                dropped[lock] = beaten
            elif self._cannot_gain(lock):
                dropped[lock] = Exit(NO_GAIN, self.rounds_of(lock))
        remaining = self._ranked([lock for lock in running if lock not in dropped])
        for lock in [lock for lock in remaining if lock in searched and lock not in self._kept]:
            if lock not in finalists:
                dropped[lock] = Exit(SEARCHED, self.rounds_of(lock))
                remaining.remove(lock)
        for number in () if searched else self.cuts():
            ranked = self._ranked(remaining, number)
            rivals = [lock for lock in ranked if lock not in self._kept]
            for lock in rivals[max(2, math.ceil(len(rivals) / 2)) :]:
                dropped[lock] = Exit(BEHIND, self.rounds_of(lock))
                remaining.remove(lock)
        rounds = max((r.round for runs in self._runs.values() for r in runs), default=0)
        return Standing(tuple(remaining), dropped, rounds)

    def has_entered(self, lock: str) -> bool:
        """Return whether the lock takes part: it is not a reserve, or it is one that has run."""
        return lock not in self._waiting

    def spent(self) -> float:
        """Return the seconds of all runs."""
        return sum(run.wall for runs in self._runs.values() for run in runs)

    def cuts(self) -> list[int]:
        """Return the rounds at whose end a cut is due."""
        share = (self._plan.budget or math.inf) / len(self._plan.threads)
        spent: dict[int, float] = {}
        for runs in self._runs.values():
            for run in runs:
                spent[run.round] = spent.get(run.round, 0.0) + run.wall
        due, total = [], 0.0
        for number in sorted(spent):
            total += spent[number]
            due += [number] * sum(total - spent[number] < cut * share <= total for cut in CUTS)
        return [number for number in due if number > 1]

    def _ranked(self, locks: Sequence[str], rounds: int | None = None) -> list[str]:
        """Return the locks by their scores in rounds up to that one, the best first."""
        scores = self._scores(locks, rounds)
        return sorted(locks, key=lambda lock: -scores[lock])

    def _beaten(self, lock: str, running: Sequence[str]) -> Exit | None:
        leads = [(self.lead(other, lock, shared=True), other) for other in running if other != lock]
        better = [(lead.low, lead.number, other) for lead, other in leads if lead.low > 0]
        if not better:
            return None
        _, _, other = max(better)
        return Exit(WORSE, len(self._logs[lock]), than=other)

    def _cannot_gain(self, lock: str) -> bool:
        """Return whether a lock is shown to gain nothing over the reference. The interval is also
        used to drop it as worse, so the chance of error does not grow."""
        if lock in self._kept or self.rounds_of(lock) < LEAST_ROUNDS:
            return False
        return self.lead(lock, self._plan.reference, shared=True).high <= math.log1p(
            self._plan.margin
        )

    def _scores(self, locks: Sequence[str], rounds: int | None) -> dict[str, float]:
        """Return the mean of each lock's rounds after the level of each round, common to all locks,
        is subtracted. Both are fitted alternately, because a lock that joined later shares only
        some rounds with the others."""
        most = math.inf if rounds is None else rounds
        logs = {
            lock: {n: value for n, value in self._logs[lock].items() if n <= most} for lock in locks
        }
        numbers = {number for values in logs.values() for number in values}
        scores = dict.fromkeys(locks, 0.0)
        for _ in range(_SWEEPS):
            levels = {
                number: statistics.fmean(
                    values[number] - scores[lock]
                    for lock, values in logs.items()
                    if number in values
                )
                for number in numbers
            }
            scores = {
                lock: statistics.fmean(value - levels[number] for number, value in values.items())
                if values
                else -math.inf
                for lock, values in logs.items()
            }
        return scores

    def rounds_of(self, lock: str) -> int:
        """Return the number of rounds of a lock that count."""
        return len(self._logs[lock])

    def killed(self, lock: str) -> list[float]:
        """Return the seconds after which runs of a lock were killed."""
        return [r.wall for r in self._runs[lock] if r.ended == TIMEOUT]

    def ended(self, standing: Standing) -> int | None:
        """Return ONE_LEFT, ALL_NEAR or NONE_LEFT if the race is decided; otherwise None."""
        best, reference = standing.best, self._plan.reference
        if best is None:
            return NONE_LEFT
        if self.rounds_of(best) < LEAST_ROUNDS:
            return None
        margin = math.log1p(self._plan.margin)
        others = [lock for lock in standing.remaining if lock != best]
        if not others:
            useless = any(out.how == NO_GAIN for out in standing.dropped.values())
            return ALL_NEAR if best == reference and useless else ONE_LEFT
        near = all(self.lead(lock, best, shared=True).high <= margin for lock in others)
        # The gain of the best lock over the reference has to be decided, too.
        if reference in others:
            near = near and self.lead(best, reference).high <= margin
        return ALL_NEAR if near else None

    def limit(self, lock: str) -> float:
        """Return the seconds that the next run of a lock may take."""
        medians = [
            statistics.median(walls)
            for runs in self._runs.values()
            if (walls := [r.wall for r in runs if VALUE in r.figures])
        ]
        if lock in self._kept or not medians:
            return self._plan.timeout
        limit = max(LEAST_LIMIT, TOO_SLOW * min(medians))
        return min(self._plan.timeout, round(limit, 2))

    def expected(self, lock: str) -> float:
        """Return the expected seconds of the next run of a lock; 0 if no run has ended yet."""
        walls = [r.wall for r in self._runs[lock]]
        if walls:
            return statistics.median(walls)
        finished = [r.wall for runs in self._runs.values() for r in runs if VALUE in r.figures]
        return statistics.median(finished) if finished else 0.0
