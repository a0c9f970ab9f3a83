"""Searches for the best lock of a program, each replayed with many seeds at once.

A search returns the index of the lock that it would recommend after each number of runs: an array
of numbers of runs x seeds. A run draws one of the lock's recorded runs.
"""

import math
from collections.abc import Callable

import numpy as np
from lockwright.tune import knowledge
from lockwright.tune.knowledge import Array, Prior
from numpy.typing import NDArray

from lockwright_lab.bench.replay.records import Recorded

Recommended = NDArray[np.intp]
Search = Callable[[Recorded, Prior, int, int], Recommended]
"""Of a program with a prior, up to a number of runs, with so many seeds."""

ROUNDS = 10
"""Rounds after which an elimination ends."""

_DROPPED = 3.0
"""Standard errors by which a lock has to be behind the leader to drop out."""


class _Runs:
    """The runs of one lock after the other, for each seed."""

    def __init__(self, program: Recorded, seeds: int) -> None:
        self._recorded = program.runs
        self._random = np.random.default_rng(0)
        self._each = np.arange(seeds)
        self.counts = np.zeros((seeds, len(program.runs)))
        self._sums = np.zeros_like(self.counts)
        self._squares = np.zeros_like(self.counts)

    def run(self, locks: Recommended, where: NDArray[np.bool_] | None = None) -> None:
        """Run a lock of each seed, or of those chosen by `where`."""
        drawn = self._random.random(len(locks))
        values = np.array(
            [
                self._recorded[k][int(u * len(self._recorded[k]))]
                for k, u in zip(locks, drawn, strict=True)
            ]
        )
        chosen = slice(None) if where is None else where
        rows, columns, added = self._each[chosen], locks[chosen], values[chosen]
        self.counts[rows, columns] += 1
        self._sums[rows, columns] += added
        self._squares[rows, columns] += added**2

    @property
    def means(self) -> Array:
        means: Array = self._sums / np.maximum(self.counts, 1)
        return means

    @property
    def variance(self) -> Array:
        deviations = np.maximum(self._squares - self.counts * self.means**2, 0)
        return knowledge.run_variance(self.counts, deviations)

    def best(self) -> Recommended:
        """Return the lock with the best mean of its runs."""
        best: Recommended = np.argmax(np.where(self.counts > 0, self.means, -np.inf), axis=1)
        return best


def guided(program: Recorded, prior: Prior, most: int, seeds: int) -> Recommended:
    """Search by the knowledge gradient."""
    runs = _Runs(program, seeds)
    locks = np.full(seeds, int(np.argmax(prior.mean)))
    found = []
    for _ in range(most):
        runs.run(locks)
        variance = runs.variance
        mean, covariance = knowledge.posterior(prior, runs.counts, runs.means, variance)
        found.append(knowledge.recommended(mean, runs.counts))
        locks = np.argmax(knowledge.knowledge_gradients(mean, covariance, variance), axis=1)
    return np.array(found)


def without_knowledge(program: Recorded, prior: Prior, most: int, seeds: int) -> Recommended:
    """Search by the same rule with a prior that does not distinguish locks."""
    variance = float(np.mean(np.diag(prior.covariance))) - knowledge.LEVEL
    flat = knowledge.flat_prior(len(program.locks), float(prior.mean.mean()), variance)
    return guided(program, flat, most, seeds)


def uniform(program: Recorded, _: Prior, most: int, seeds: int) -> Recommended:
    """Run all locks once a round, in a random order; recommend the best mean."""
    runs, random = _Runs(program, seeds), np.random.default_rng(1)
    found, count = [], len(program.locks)
    order = np.zeros((seeds, count), np.intp)
    for number in range(most):
        if number % count == 0:
            order = random.permuted(np.tile(np.arange(count), (seeds, 1)), axis=1)
        runs.run(order[:, number % count])
        found.append(runs.best())
    return np.array(found)


def halving(program: Recorded, prior: Prior, most: int, seeds: int) -> Recommended:
    """Search by sequential halving (Karnin, Koren and Somekh, ICML 2013) with each number of runs
    as the budget; with less runs than locks, a random part of the locks runs once."""
    found = [uniform(program, prior, min(most, len(program.locks) - 1), seeds)]
    found += [
        _halving(program, budget, seeds)[None] for budget in range(len(program.locks), most + 1)
    ]
    return np.concatenate(found)


def _halving(program: Recorded, budget: int, seeds: int) -> Recommended:
    runs, random = _Runs(program, seeds), np.random.default_rng(1)
    left = random.permuted(np.tile(np.arange(len(program.locks)), (seeds, 1)), axis=1)
    phases = max(1, math.ceil(math.log2(left.shape[1])))
    for _ in range(phases):
        for _ in range(max(1, budget // (left.shape[1] * phases))):
            if runs.counts[0].sum() + left.shape[1] > budget:
                break
            for column in range(left.shape[1]):
                runs.run(left[:, column])
        means = np.take_along_axis(runs.means, left, axis=1)
        order = np.argsort(-means, axis=1)[:, : max(1, math.ceil(left.shape[1] / 2))]
        left = np.take_along_axis(left, order, axis=1)
    return left[:, 0]


def elimination(program: Recorded, prior: Prior, most: int, seeds: int) -> Recommended:
    """Run all remaining locks once a round; those shown to be behind the leader drop out, until one
    is left or after ROUNDS."""
    runs, random = _Runs(program, seeds), np.random.default_rng(1)
    count = len(program.locks)
    remains = np.ones((seeds, count), bool)
    made = np.zeros(seeds, int)
    by_number = np.zeros((most, seeds), np.intp)
    for _ in range(ROUNDS):
        order = random.permuted(np.tile(np.arange(count), (seeds, 1)), axis=1)
        open_ones = remains.sum(axis=1) > 1
        for column in range(count):
            locks = order[:, column]
            runs_now = remains[np.arange(seeds), locks] & open_ones & (made < most)
            runs.run(locks, runs_now)
            best = np.argmax(np.where(remains & (runs.counts > 0), runs.means, -np.inf), axis=1)
            by_number[made[runs_now], np.flatnonzero(runs_now)] = best[runs_now]
            made += runs_now
        leader = np.max(np.where(remains, runs.means, -np.inf), axis=1, keepdims=True)
        error = np.sqrt(2 * runs.variance[:, None] / np.maximum(runs.counts, 1))
        remains &= (leader - runs.means <= _DROPPED * error) | (runs.counts < 2)
    final = np.argmax(np.where(remains, runs.means, -np.inf), axis=1)
    for seed in range(seeds):
        by_number[made[seed] :, seed] = final[seed]
    return by_number


SEARCHES: dict[str, Search] = {
    "guided": guided,
    "no prior": without_knowledge,
    "sequential halving": halving,
    "uniform rounds": uniform,
    "elimination": elimination,
}
