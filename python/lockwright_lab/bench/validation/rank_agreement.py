"""The agreement of two rankings of locks, and what the published data reach themselves: the metric
of docs/lab/validation.md."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

TIE = 0.05
"""Two throughputs that differ by no more than this share of the greater one are tied."""

SENSITIVE = 1.3
"""The best lock of a lock-sensitive application is at least so many times as good as the worst."""

_HALVINGS = 20

Throughputs = Mapping[str, float]
"""By lock."""


def order(first: float, second: float) -> int:
    """Return 1 if the first throughput is higher, -1 if it is lower, 0 for a tie."""
    if abs(first - second) <= TIE * max(first, second):
        return 0
    return 1 if first > second else -1


def tau_b(one: Throughputs, other: Throughputs, locks: Sequence[str]) -> float | None:
    """Return Kendall's tau-b over the locks that both have; 0 if `one` has only ties, None if
    `other` has, or there are fewer than three locks."""
    shared = [lock for lock in locks if lock in one and lock in other]
    if len(shared) < 3:
        return None
    total = of_one = of_other = 0
    for a, b in combinations(shared, 2):
        x, y = order(one[a], one[b]), order(other[a], other[b])
        total += x * y
        of_one += x != 0
        of_other += y != 0
    if not of_other:
        return None
    return total / math.sqrt(of_one * of_other) if of_one else 0.0


def at_most_nodes(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the runs of each application at its largest number of nodes. frame: the columns
    application, count, lock and value."""
    return {
        str(name): part[part["count"] == part["count"].max()]
        for name, part in frame.groupby("application")
    }


def means(runs: pd.DataFrame) -> dict[str, float]:
    """Return the mean throughput of each lock."""
    return {str(lock): float(value) for lock, value in runs.groupby("lock").value.mean().items()}


def is_sensitive(throughputs: Throughputs) -> bool:
    """Return True for the throughputs of a lock-sensitive application."""
    values = list(throughputs.values())
    return len(values) > 1 and max(values) >= SENSITIVE * min(values)


def with_itself(runs: pd.DataFrame, locks: Sequence[str], seed: int = 1) -> float | None:
    """Return the mean tau-b between the means of random halves of an application's runs; locks with
    one run have the same in both halves."""
    random = np.random.default_rng(seed)
    by_lock = {str(lock): part.value.to_numpy() for lock, part in runs.groupby("lock")}
    found = []
    for _ in range(_HALVINGS):
        halves: tuple[dict[str, float], dict[str, float]] = ({}, {})
        for lock, values in by_lock.items():
            mixed = random.permutation(values)
            middle = (len(mixed) + int(random.integers(2))) // 2
            first, second = mixed[:middle], mixed[middle:]
            halves[0][lock] = float((first if len(first) else second).mean())
            halves[1][lock] = float((second if len(second) else first).mean())
        tau = tau_b(halves[0], halves[1], locks)
        if tau is not None:
            found.append(tau)
    return statistics.fmean(found) if found else None


def mean_ranks(
    applications: Mapping[str, Throughputs], leave_out: str, locks: Sequence[str]
) -> dict[str, float]:
    """Return a score for each lock: higher for a better mean rank over the other applications, from
    0 (the worst of all) to 1."""
    ranks: dict[str, list[float]] = {lock: [] for lock in locks}
    for name, throughputs in applications.items():
        if name == leave_out:
            continue
        present = [lock for lock in locks if lock in throughputs]
        for lock in present:
            others = [order(throughputs[lock], throughputs[each]) for each in present]
            if len(present) > 1:
                ranks[lock].append((sum(others) / (len(present) - 1) + 1) / 2)
    return {lock: statistics.fmean(found) for lock, found in ranks.items() if found}
