"""The agreement of simulated with real ranks: the metric of docs/simulation.md."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from lockwright.bench.validation.cells import Cell, Rates
from lockwright.bench.validation.measure import REAL, SIMULATED

BASELINE = "pthread"

FACTOR = 1.5
"""A simulated ratio to pthread agrees with the real one within this factor."""


@dataclass(frozen=True)
class Ratio:
    """The throughput of a lock over that of pthread in a cell, real and simulated."""

    cell: Cell
    lock: str
    real: float
    simulated: float

    @property
    def factor(self) -> float:
        """How many times the simulated ratio is too large; below 1 if too small."""
        return self.simulated / self.real

    @property
    def is_near(self) -> bool:
        """Whether the factor is at most FACTOR in either direction."""
        return 1 / FACTOR <= self.factor <= FACTOR


@dataclass(frozen=True)
class CellAgreement:
    """The agreement in one cell. tau: None if the real runs show no pair of locks to differ."""

    cell: Cell
    tau: float | None
    pairs: int
    shown: int
    ratios: tuple[Ratio, ...]


@dataclass(frozen=True)
class Agreement:
    """The agreement over all cells."""

    cells: tuple[CellAgreement, ...]

    @property
    def median_tau(self) -> float | None:
        """The median over the cells that have a tau."""
        found = [cell.tau for cell in self.cells if cell.tau is not None]
        return statistics.median(found) if found else None

    @property
    def ratios(self) -> list[Ratio]:
        """The ratios of all cells."""
        return [ratio for cell in self.cells for ratio in cell.ratios]

    @property
    def share_near(self) -> float | None:
        """The share of all ratios that are near."""
        found = self.ratios
        return sum(ratio.is_near for ratio in found) / len(found) if found else None


def is_shown(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two locks differ by more than the spread of their runs: their medians by more
    than the ranges of both together. One run has no spread and shows nothing."""
    if len(one) < 2 or len(other) < 2:
        return False
    spread = max(one) - min(one) + max(other) - min(other)
    return abs(statistics.median(one) - statistics.median(other)) > spread


def kendall(
    real: dict[str, list[float]], simulated: dict[str, float]
) -> tuple[float | None, int, int]:
    """Return Kendall's tau over the pairs that real runs show to differ, the number of all pairs
    and of these. Simulated rates that are equal count neither for nor against."""
    locks = sorted(set(real) & set(simulated))
    pairs = list(combinations(locks, 2))
    total = shown = 0
    for one, other in pairs:
        if is_shown(real[one], real[other]):
            shown += 1
            order = statistics.median(real[one]) - statistics.median(real[other])
            found = order * (simulated[one] - simulated[other])
            total += (found > 0) - (found < 0)
    return (total / shown if shown else None), len(pairs), shown


def agreement(rates: Rates, cells: Sequence[Cell], locks: Sequence[str]) -> Agreement:
    """Return the agreement in the cells that have real and simulated runs."""
    found = []
    for cell in cells:
        real = {lock: runs for lock in locks if (runs := rates.of(REAL, cell, lock))}
        simulated = {lock: runs[0] for lock in locks if (runs := rates.of(SIMULATED, cell, lock))}
        both = [lock for lock in locks if lock in real and lock in simulated]
        if not both:
            continue
        tau, pairs, shown = kendall(real, simulated)
        ratios = []
        if BASELINE in both:
            of_real = statistics.median(real[BASELINE])
            ratios = [
                Ratio(
                    cell,
                    lock,
                    statistics.median(real[lock]) / of_real,
                    simulated[lock] / simulated[BASELINE],
                )
                for lock in both
                if lock != BASELINE
            ]
        found.append(CellAgreement(cell, tau, pairs, shown, tuple(ratios)))
    return Agreement(tuple(found))
