"""The choice of generic programs for an application, by the published throughputs of few locks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lockwright.base.errors import LockwrightError
from lockwright.simulate.model import Model, Operation

LOCKS = ("pthread", "ttas", "mcs-stp", "hmcs")
"""The locks of a fit: one that parks and barges, one that polls one line, a queue that parks, a
hierarchy of queues that polls."""

LOCKS_THAT_PARK = ("pthread", "mcs-stp")
"""The locks of a fit for an application that was not run under those of LOCKS that poll."""

_WEIGHTS = (1.0, 0.5)
"""Of the largest and the smallest number of nodes."""

_SCALING_WEIGHT = 0.1

_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Tried shares of the parallel work in an operation, at the largest number of nodes."""

NO_OPERATION = 0.1
"""The rate of a lock under which a simulation saw no section, in that of the slowest other one."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """A generic program for an application. distance: squared. operation: the scale of its
    throughput."""

    name: str
    distance: float
    operation: Operation


@dataclass(frozen=True)
class Fit:
    """The result for an application: the locks, the numbers of nodes, and the nearest generic
    program."""

    application: str
    locks: tuple[str, ...]
    nodes: tuple[int, ...]
    choice: Choice


class Library:
    """The simulated sections per second of generic programs.

    frame: the columns application, nodes, threads, lock and sections_per_second.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        table = frame.pivot_table(
            index=["application", "nodes"], columns="lock", values="sections_per_second"
        )
        self._rates = table
        self.names = list(table.index.get_level_values(0).unique())
        self.nodes = sorted(table.index.get_level_values(1).unique())
        self.processors = {
            int(nodes): int(part.threads.min()) for nodes, part in frame.groupby("nodes")
        }
        self.locks = set(table.columns)

    def times(self, name: str, nodes: Sequence[int], locks: Sequence[str]) -> Vector | None:
        """Return the seconds for each section, a row for each number of nodes; None if the program
        was not simulated under one of the locks."""
        rows = [(name, count) for count in nodes]
        if not set(locks) <= self.locks or not all(row in self._rates.index for row in rows):
            return None
        rates = self._rates.loc[rows, list(locks)].to_numpy(dtype=float)
        if np.isnan(rates).any() or not rates.any(axis=1).all():
            return None
        least = np.where(rates > 0, rates, np.inf).min(axis=1, keepdims=True)
        seconds: Vector = 1 / np.where(rates > 0, rates, least * NO_OPERATION)
        return seconds


def locks_of_fit(
    application: str, published: pd.DataFrame, locks: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the locks to which an application is fitted. published: see fit. Raises
    LockwrightError if there are none."""
    for chosen in (locks or LOCKS, LOCKS_THAT_PARK):
        if set(chosen) <= set(published.columns) and published[list(chosen)].notna().all(axis=None):
            return tuple(chosen)
    raise LockwrightError(
        f"{application} has runs neither under {', '.join(locks or LOCKS)} nor under "
        f"{', '.join(LOCKS_THAT_PARK)} with all numbers of nodes",
        "name others with --fit-locks, or leave it out with --apps",
    )


def fit(
    application: str,
    published: pd.DataFrame,
    library: Library,
    locks: Sequence[str],
    names: Sequence[str] | None = None,
) -> Fit:
    """Return the nearest generic program. published: throughput, a row for each number of nodes,
    a column for each lock. names: of the programs to choose from; None for all."""
    counts = list(dict.fromkeys([int(published.index.max()), int(published.index.min())]))
    nodes = tuple(_nearest(count, library.nodes) for count in counts)
    real = np.log(published.loc[counts, list(locks)].to_numpy(dtype=float))
    processors = np.array([library.processors[n] for n in nodes], dtype=float)[:, np.newaxis]
    choices = []
    for name in library.names if names is None else names:
        times = library.times(name, nodes, locks)
        if times is not None:
            choices.append(_choice(name, real, times, processors))
    if not choices:
        raise LockwrightError(
            f"no generic program was simulated under {', '.join(locks)}",
            "simulate the library under these locks",
        )
    nearest = min(choices, key=lambda choice: (choice.distance, choice.name))
    return Fit(application, tuple(locks), nodes, nearest)


def _nearest(count: float, known: Sequence[int]) -> int:
    """Return the known number with the least ratio to `count`."""
    return int(min(known, key=lambda each: abs(math.log(each / count))))


def _choice(name: str, real: Vector, times: Vector, processors: Vector) -> Choice:
    """Return a program with the share of parallel work that fits best. real: logarithms of
    throughputs."""
    found = []
    scale = np.exp(np.log(times[0]).mean())
    for share in _SHARES:
        work = share / (1 - share) * scale * processors[0, 0]
        rates = -np.log(times + work / processors)
        sections = math.exp(rates[0].mean() - real[0].mean())
        found.append((_distance(real, rates), sections, work))
    distance, sections, work = min(found)
    return Choice(name, distance, Operation(sections, float(sections * work * 1e9)))


def _distance(real: Vector, rates: Vector) -> float:
    """Return the squared distance of logarithms of throughputs: the mean squared difference of the
    locks' ratios to their geometric mean, and that of the growth of the mean over nodes."""
    weights = np.array(_WEIGHTS[: len(real)])
    means = real.mean(axis=1, keepdims=True), rates.mean(axis=1, keepdims=True)
    ratios = ((real - means[0] - rates + means[1]) ** 2).mean(axis=1)
    growth = (means[0][0] - means[0] - means[1][0] + means[1]).ravel() ** 2
    return float((weights * (ratios + _SCALING_WEIGHT * growth)).sum())


def skeleton(fitted: Fit, generic: Model, source: str) -> Model:
    """Return the model of a skeleton's file. source: the published data."""
    choice = fitted.choice
    return replace(
        generic,
        title=fitted.application,
        source=(
            f"{_GENERIC} {choice.name}, fitted to {source}: {', '.join(fitted.locks)} on "
            f"{', '.join(map(str, sorted(fitted.nodes)))} nodes; squared distance "
            f"{choice.distance:.3g}"
        ),
        unknown=(
            "everything but the throughputs under the locks of the fit; the program itself was "
            "not run",
        ),
        operation=choice.operation,
        fitted_locks=fitted.locks,
    )


def profiled_skeleton(application: str, model: Model, locks: Sequence[str], source: str) -> Model:
    """Return the model of a skeleton's file, from one of a profile. locks: those whose throughputs
    its scale and its estimates are from; source: the published data."""
    return replace(
        model,
        title=application,
        source=f"from a {model.source}; its scale from {source}: {', '.join(locks)}",
        fitted_locks=tuple(locks),
    )


_GENERIC = "generic program"


def generic_name(model: Model) -> str:
    """Return the name of the generic program of a skeleton, or the title of another model."""
    return model.source.partition(f"{_GENERIC} ")[2].partition(",")[0] or model.title
