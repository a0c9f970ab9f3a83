"""Which locks are still in the race at one number of threads, by the runs made so far.

Successive elimination (Even-Dar, Mannor and Mansour, Action elimination and stopping conditions for
the multi-armed bandit, Journal of Machine Learning Research 7, 2006): all locks that are left run
once in each round, then those shown to be worse than another drop out. Two locks are compared by
the logarithms of their ratios in the rounds that both have run, with intervals that bear the
repeated looks. The best lock drops out only if one of its intervals, one for each other lock, is
wrong, so the chance of error is divided among these.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.compare.plan import Plan
from lockwright.machine.load import BUSY
from lockwright.preload.locks import BASELINE
from lockwright.run import record
from lockwright.run.record import Record
from lockwright.stats.sequential import ERROR, Interval, interval, usual

TOO_SLOW = 3.0
"""A run is killed once it has taken so many times the median of the fastest lock."""

LEAST_LIMIT = 1.0
"""Seconds that a run may take in any case."""

LEAST_ROUNDS = 5
"""Rounds of the best lock and of the baseline, so that the gain is known with some certainty."""

ONE_LEFT, ALL_NEAR, TIME_UP, ROUNDS_UP, NONE_LEFT = range(5)
"""Why a race ended: one lock is left; none of those that are left, or that can gain nothing, can be
better than the best by more than the margin; the budget or the rounds are used up; no lock is
left."""

WORSE, SLOW, FAILED, BEHIND, NO_GAIN = "worse", "slow", "failed", "behind", "no gain"
"""How a lock drops out: it is shown to be worse than another; its runs do not end in time; one
fails; it is set aside; or it is shown to be no better than the baseline by more than the margin."""

CUTS = (1 / 3, 2 / 3)
"""Shares of the budget after which the worse half of the locks that are left is set aside, so that
the others are run more often: where runs vary much, nothing may be shown of any by then
(sequential halving: Karnin, Koren and Somekh, Almost optimal exploration in multi-armed bandits,
International Conference on Machine Learning, 2013)."""


_OF_RESERVES = 0.2
"""Share of the chance of error that comparisons with reserves get. They are many, and any of them
may join; so the intervals of the others are hardly wider than without them."""

_SWEEPS = 20
"""Turns of a fit that halves what is left to correct in each, or does better."""


class Exit(NamedTuple):
    """How a lock dropped out. after: rounds; than: the lock that it is shown to be worse than."""

    how: str
    after: int
    than: str = ""
    note: str = ""


@dataclass(frozen=True)
class State:
    """left: the locks in the race, the best first; out: the others."""

    left: tuple[str, ...]
    out: Mapping[str, Exit]
    rounds: int

    @property
    def best(self) -> str | None:
        """The lock that leads; None if all are out."""
        return self.left[0] if self.left else None


class Field:
    """The runs of a race at one number of threads, up to a round."""

    def __init__(
        self, plan: Plan, threads: int, records: Iterable[Record], rounds: int | None = None
    ) -> None:
        """rounds: those to look at; None for all."""
        self._plan = plan
        mine = [r for r in records if r.threads == threads and r.counted]
        self._runs: dict[str, list[Record]] = {lock: [] for lock in plan.locks}
        for run in mine:
            if rounds is None or run.round <= rounds:
                self._runs[run.lock].append(run)
        sign = -1 if plan.lower_is_better else 1
        self._logs = {
            lock: {r.round: sign * math.log(value) for r in runs if (value := self._value(r)) > 0}
            for lock, runs in self._runs.items()
        }
        self._waiting = {lock for lock in plan.reserves if not self._runs[lock]}
        self._reserves = frozenset(plan.reserves)
        share = _OF_RESERVES if plan.reserves else 0.0
        self._error = ERROR * (1 - share) / max(1, len(plan.locks) - len(plan.reserves) - 1)
        self._error_of_reserves = ERROR * share / max(1, len(plan.reserves))
        others = [lock for lock in plan.locks if lock != BASELINE]
        self._usual = usual([self._differences(lock, BASELINE) for lock in others])

    def _value(self, run: Record) -> float:
        """What a run counts for; 0 for nothing. A run that was killed took at least so long: to
        leave it out would leave out what is bad about the lock."""
        if run.outcome == record.TIMEOUT and self._plan.metric is None:
            return run.wall
        return run.value or 0.0

    def lead(self, lock: str, other: str, shared: bool = False) -> Interval:
        """By how much a lock is better than another: the logarithm of the ratio.

        shared: whether the deviation of all locks counts where it is larger than that of these two,
        and better known. That tells more after a few rounds. What is said of a lock in the end goes
        by its own runs alone, if they are not too few.
        """
        values = self._differences(lock, other)
        chosen = self._reserves.isdisjoint((lock, other))
        error = self._error if chosen else self._error_of_reserves
        return interval(values, error, self._usual if shared else None)

    def _differences(self, lock: str, other: str) -> list[float]:
        mine, others = self._logs[lock], self._logs[other]
        return [mine[number] - others[number] for number in sorted(mine.keys() & others.keys())]

    def exit(self, lock: str) -> Exit | None:
        """How a lock dropped out by its own runs; None if it did not."""
        runs = self._runs[lock]
        bad = [r for r in runs if r.value is None or r.value <= 0]
        failed = [r for r in bad if r.outcome != record.TIMEOUT]
        if failed:
            return Exit(
                FAILED, failed[0].round, note=failed[0].note or "its figure is not positive"
            )
        finished = len(runs) - len(bad)
        # What kept the processors busy beside it may have kept the run from its end, too.
        disturbed = any(r.others is not None and r.others > BUSY for r in bad)
        if len(bad) > finished and (len(bad) > 1 or not disturbed):
            return Exit(SLOW, bad[-1].round)
        return None

    def state(self) -> State:
        """Who is in the race and who is out."""
        entered = [lock for lock in self._plan.locks if lock not in self._waiting]
        out = {lock: gone for lock in entered if (gone := self.exit(lock)) is not None}
        running = [lock for lock in entered if lock not in out]
        for lock in running:
            if (beaten := self._beaten(lock, running)) is not None:
                out[lock] = beaten
            elif self._cannot_gain(lock):
                out[lock] = Exit(NO_GAIN, self.rounds_of(lock))
        left = self._ranked([lock for lock in running if lock not in out])
        for number in self.cuts():
            behind = self._ranked(left, number)
            rivals = [lock for lock in behind if lock != BASELINE]
            for lock in rivals[max(2, math.ceil(len(rivals) / 2)) :]:
                out[lock] = Exit(BEHIND, self.rounds_of(lock))
                left.remove(lock)
        rounds = max((r.round for runs in self._runs.values() for r in runs), default=0)
        return State(tuple(left), out, rounds)

    def has_entered(self, lock: str) -> bool:
        """Whether it is no reserve that has not run yet."""
        return lock not in self._waiting

    def cuts(self) -> list[int]:
        """The rounds with whose end the time of a cut had come."""
        share = (self._plan.budget or math.inf) / len(self._plan.threads)
        spent: dict[int, float] = {}
        for runs in self._runs.values():
            for run in runs:
                spent[run.round] = spent.get(run.round, 0.0) + run.wall
        found, whole = [], 0.0
        for number in sorted(spent):
            whole += spent[number]
            found += [number] * sum(whole - spent[number] < cut * share <= whole for cut in CUTS)
        return [number for number in found if number > 1]

    def _ranked(self, locks: Sequence[str], rounds: int | None = None) -> list[str]:
        """The best first, by the rounds up to that one."""
        scores = self._scores(locks, rounds)
        return sorted(locks, key=lambda lock: -scores[lock])

    def _beaten(self, lock: str, running: Sequence[str]) -> Exit | None:
        by = [(self.lead(other, lock, shared=True), other) for other in running if other != lock]
        shown = [(lead.low, lead.number, other) for lead, other in by if lead.low > 0]
        if not shown:
            return None
        _, _, other = max(shown)
        return Exit(WORSE, len(self._logs[lock]), than=other)

    def _cannot_gain(self, lock: str) -> bool:
        """Whether it is shown that a lock is of no use in the place of the baseline. The interval
        is one of those by which it would drop out as worse, so the chance of error is the same."""
        if lock == BASELINE or self.rounds_of(lock) < LEAST_ROUNDS:
            return False
        return self.lead(lock, BASELINE, shared=True).high <= math.log1p(self._plan.margin)

    def _scores(self, left: Sequence[str], rounds: int | None) -> dict[str, float]:
        """How good each lock is, on average of its rounds, where a round's own level, good or bad
        for all, is taken off: both are fitted in turn, for a lock that joined later shares only
        some rounds with the others."""
        most = math.inf if rounds is None else rounds
        logs = {
            lock: {n: value for n, value in self._logs[lock].items() if n <= most} for lock in left
        }
        numbers = {number for mine in logs.values() for number in mine}
        scores = dict.fromkeys(left, 0.0)
        for _ in range(_SWEEPS):
            levels = {
                number: statistics.fmean(
                    mine[number] - scores[lock] for lock, mine in logs.items() if number in mine
                )
                for number in numbers
            }
            scores = {
                lock: statistics.fmean(value - levels[number] for number, value in mine.items())
                if mine
                else -math.inf
                for lock, mine in logs.items()
            }
        return scores

    def rounds_of(self, lock: str) -> int:
        """Rounds of a lock that count."""
        return len(self._logs[lock])

    def killed(self, lock: str) -> list[float]:
        """Seconds after which runs of a lock were killed."""
        return [r.wall for r in self._runs[lock] if r.outcome == record.TIMEOUT]

    def ended(self, state: State) -> int | None:
        """ONE_LEFT, ALL_NEAR or NONE_LEFT if there is nothing more to find out; else None."""
        best = state.best
        if best is None:
            return NONE_LEFT
        if self.rounds_of(best) < LEAST_ROUNDS:
            return None
        margin = math.log1p(self._plan.margin)
        others = [lock for lock in state.left if lock != best]
        if not others:
            useless = any(gone.how == NO_GAIN for gone in state.out.values())
            return ALL_NEAR if best == BASELINE and useless else ONE_LEFT
        near = all(self.lead(lock, best, shared=True).high <= margin for lock in others)
        # Whether the best one gains anything has to be told, too.
        if BASELINE in others:
            near = near and self.lead(best, BASELINE).high <= margin
        return ALL_NEAR if near else None

    def limit(self, lock: str) -> float:
        """Seconds that the next run of a lock may take."""
        medians = [
            statistics.median(walls)
            for runs in self._runs.values()
            if (walls := [r.wall for r in runs if r.value is not None])
        ]
        if lock == BASELINE or not medians:
            return self._plan.timeout
        limit = max(LEAST_LIMIT, TOO_SLOW * min(medians))
        return min(self._plan.timeout, round(limit, 2))

    def expected(self, lock: str) -> float:
        """Seconds that the next run of a lock is going to take, as far as that is known."""
        walls = [r.wall for r in self._runs[lock]]
        if walls:
            return statistics.median(walls)
        known = [r.wall for runs in self._runs.values() for r in runs if r.value is not None]
        return statistics.median(known) if known else 0.0
