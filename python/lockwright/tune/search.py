"""The search for the finalists, the locks to prove: each round runs the reference and the locks
whose runs are expected to improve the choice most, given how locks behaved in other programs.
Values are those of `knowledge`: natural logarithms, 0 for the best lock.

What a round runs follows from the runs of earlier rounds alone, so that a resumed search goes on as
it would have.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from lockwright.compare.plan import Plan, cell_name
from lockwright.experiment import Run
from lockwright.preload.rwlocks import parts_of
from lockwright.tune import knowledge
from lockwright.tune.knowledge import Array, Prior
from lockwright.tune.priors import Values
from lockwright.tune.race import RaceRuns

WORTH: Final = 0.003
"""Growth of the largest expected value for which another run is worth its time: 0.3 %."""

SHARE: Final = 2 / 3
"""Of the budget that the search may use; the rest is for the proof."""

AT_ONCE: Final = 2
"""Locks that run in a round of the search besides the reference."""

FINALISTS: Final = 3
"""Locks that are proven, at most; the third only if it is expected near the best."""

CROWDED: Final = -0.3
"""Added to the expected value of a lock that does not survive over-subscription, where threads lack
processors: in the published programs each thread had its own."""


class View(NamedTuple):
    """What the runs show. picks: the locks to run next, none if the search has ended;
    finalists: the locks with the largest expected values, at its end or so far."""

    picks: tuple[str, ...]
    finalists: tuple[str, ...]


def expected_values(
    known: Sequence[Values],
    locks: Sequence[str],
    advised: Collection[str],
    fragile: Collection[str],
) -> dict[str, float]:
    """Return the expected value of each lock before any run. known: the values in other programs;
    advised: locks that are expected to be best; fragile: locks that do not survive
    over-subscription, if the program has it. Raises ValueError for fewer than two programs."""
    means = knowledge.prior_of(_table(known, locks)).mean
    return {
        lock: 0.0 if lock in advised else float(mean) + CROWDED * (lock in fragile)
        for lock, mean in zip(locks, means, strict=True)
    }


def _table(known: Sequence[Values], locks: Iterable[str]) -> Array:
    names = tuple(locks)
    return np.array([[_value(row, lock) for lock in names] for row in known])


def _value(row: Values, lock: str) -> float:
    """Return the value of a lock, of DEFAULT that of its lock; NaN if it is not known."""
    return row.values.get(lock, row.values.get(parts_of(lock)[0], math.nan))


@dataclass(frozen=True)
class Search:
    """A search among locks, one of which is the reference. prior: of their values, in the order of
    `locks`; views: a cache, by the number of threads, the round, and the seconds of its runs."""

    locks: tuple[str, ...]
    prior: Prior
    views: dict[tuple[int, int, float], View] = field(default_factory=dict)

    @classmethod
    def among(cls, expected: Mapping[str, float], known: Sequence[Values]) -> "Search":
        """Return the search with these expected values. known: the values in other programs.
        Raises ValueError for fewer than two."""
        covariance = knowledge.prior_of(_table(known, expected)).covariance
        return cls(tuple(expected), Prior(np.array(list(expected.values())), covariance))

    def view(
        self, plan: Plan, threads: int, runs: Iterable[Run], rounds: int | None = None
    ) -> View:
        """Return what the runs at one number of threads show. rounds: how many count; None: all."""
        of_cell = [run for run in runs if run.cell == cell_name(threads)]
        last = max((run.round for run in of_cell), default=0) if rounds is None else rounds
        view = self._after(plan, threads, of_cell, 0)
        for number in range(1, last + 1):
            now = self._after(plan, threads, of_cell, number)
            # The finalists stay while their proof lasts.
            view = now if now.picks or view.picks else view
        return view

    def _after(self, plan: Plan, threads: int, runs: Sequence[Run], number: int) -> View:
        key = threads, number, sum(run.wall for run in runs if run.round <= number)
        if key not in self.views:
            self.views[key] = self._view(plan, RaceRuns(plan, threads, runs, number))
        return self.views[key]

    def _view(self, plan: Plan, race_runs: RaceRuns) -> View:
        usable = [i for i, lock in enumerate(self.locks) if race_runs.exit(lock) is None]
        counts, means, variance = self._observed(race_runs, plan.reference)
        mean, covariance = knowledge.posterior(self.prior, counts, means, variance)
        mean, covariance = mean[usable], covariance[np.ix_(usable, usable)]
        names = [self.locks[index] for index in usable]
        rivals = [index for index, name in enumerate(names) if name != plan.reference]
        ran = [index for index in rivals if counts[usable[index]]]
        finalists = _best(names, mean, ran, math.log1p(plan.margin))
        share = (plan.budget or math.inf) / len(plan.threads)
        if not rivals or race_runs.spent() >= SHARE * share:
            return View((), finalists)
        # Before any run, those that may be best; later, those that tell most.
        gains = knowledge.knowledge_gradients(mean, covariance, variance) if ran else mean
        if ran and gains[rivals].max() < WORTH:
            return View((), finalists)
        picks = sorted(rivals, key=lambda index: -gains[index])[:AT_ONCE]
        return View(tuple(names[index] for index in picks), finalists)

    def _observed(self, race_runs: RaceRuns, reference: str) -> tuple[Array, Array, Array]:
        """Return the number of runs of each lock, the means of their logarithms relative to the
        reference of their rounds, and the variance of one."""
        logs = [race_runs.relative(lock, reference) for lock in self.locks]
        counts = np.array([len(each) for each in logs], float)
        means = np.array([np.mean(each) if each else 0.0 for each in logs])
        squares = np.array([np.var(each) * len(each) if each else 0.0 for each in logs])
        # The reference does not vary relative to itself.
        others = [index for index, lock in enumerate(self.locks) if lock != reference]
        return counts, means, knowledge.run_variance(counts[others], squares[others])


def _best(names: Sequence[str], mean: Array, ran: Sequence[int], near: float) -> tuple[str, ...]:
    order = sorted(ran, key=lambda index: -mean[index])[:FINALISTS]
    return tuple(
        names[index]
        for place, index in enumerate(order)
        if place < FINALISTS - 1 or mean[index] > mean[order[0]] - near
    )
