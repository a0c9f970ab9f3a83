"""The agreement of simulated with real ranks: the metric of docs/lab/validation.md."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lockwright_lab.bench.validation.cells import REAL, SIMULATED, Cell, Rates

BASELINE = "pthread"

FACTOR = 1.5
"""Factor within which a simulated ratio to pthread agrees with the real one."""


@dataclass(frozen=True)
class Ratio:
    """The throughput of a lock over that of pthread in a cell, real and simulated.

    spread: the largest ratio of a real round over the smallest, at least 1."""

    cell: Cell
    lock: str
    real: float
    simulated: float
    spread: float = 1.0

    @property
    def factor(self) -> float:
        """The simulated ratio over the real one."""
        return self.simulated / self.real

    @property
    def is_near(self) -> bool:
        """True if the factor is at most FACTOR in either direction."""
        return 1 / FACTOR <= self.factor <= FACTOR

    @property
    def is_repeatable(self) -> bool:
        """True if the ratios of the real rounds are within FACTOR of each other."""
        return self.spread <= FACTOR


def share_near(ratios: Sequence[Ratio]) -> float | None:
    """Return the share of the ratios that are near; None if there are none."""
    return sum(ratio.is_near for ratio in ratios) / len(ratios) if ratios else None


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
        taus = [cell.tau for cell in self.cells if cell.tau is not None]
        return statistics.median(taus) if taus else None

    @property
    def ratios(self) -> list[Ratio]:
        return [ratio for cell in self.cells for ratio in cell.ratios]

    @property
    def share_near(self) -> float | None:
        """The share of all ratios that are near."""
        return share_near(self.ratios)

    @property
    def repeatable(self) -> list[Ratio]:
        """The ratios of locks whose real rounds agree."""
        return [ratio for ratio in self.ratios if ratio.is_repeatable]

    def of_workload(self, workload: str) -> "Agreement":
        """Return the agreement in the cells of one workload."""
        return Agreement(tuple(each for each in self.cells if each.cell.workload == workload))


def is_shown(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return True if the medians of two locks differ by more than the sum of the ranges of their
    runs. One run has no range and shows nothing."""
    if len(first) < 2 or len(second) < 2:
        return False
    ranges = max(first) - min(first) + max(second) - min(second)
    return abs(statistics.median(first) - statistics.median(second)) > ranges


def kendall(
    real: dict[str, list[float]], simulated: dict[str, float]
) -> tuple[float | None, int, int]:
    """Return Kendall's tau over the pairs that real runs show to differ, the number of all pairs
    and of these. Equal simulated rates count as 0."""
    locks = sorted(set(real) & set(simulated))
    pairs = list(combinations(locks, 2))
    total = shown = 0
    for first, second in pairs:
        if is_shown(real[first], real[second]):
            shown += 1
            order = statistics.median(real[first]) - statistics.median(real[second])
            product = order * (simulated[first] - simulated[second])
            total += (product > 0) - (product < 0)
    return (total / shown if shown else None), len(pairs), shown


def agreement(rates: Rates, cells: Sequence[Cell], locks: Sequence[str], seeds: int) -> Agreement:
    """Return the agreement in the cells that have real and simulated runs: that of the medians over
    the real rounds with those over the seeds 1 to `seeds`."""
    by_cell = []
    for cell in cells:
        real = {lock: runs for lock in locks if (runs := rates.of(REAL, cell, lock))}
        simulated = {
            lock: statistics.median(runs)
            for lock in locks
            if (runs := rates.of(SIMULATED, cell, lock, rounds=seeds))
        }
        by_cell += _of_cell(cell, real, simulated, locks, _spreads(rates, cell, locks))
    return Agreement(tuple(by_cell))


def _spreads(rates: Rates, cell: Cell, locks: Sequence[str]) -> dict[str, float]:
    """Return the largest ratio to pthread of a real round over the smallest, by lock."""
    ratios: dict[str, list[float]] = {}
    for of_round in rates.by_round(REAL, cell, locks).values():
        if BASELINE in of_round:
            for lock, rate in of_round.items():
                ratios.setdefault(lock, []).append(rate / of_round[BASELINE])
    return {lock: max(several) / min(several) for lock, several in ratios.items()}


def repeatability(rates: Rates, cells: Sequence[Cell], locks: Sequence[str]) -> Agreement:
    """Return the agreement of each real round with the other ones: what a perfect simulator of one
    run would reach. A cell appears once for each round."""
    by_cell = []
    for cell in cells:
        by_round = rates.by_round(REAL, cell, locks)
        for left_out, one in by_round.items():
            others: dict[str, list[float]] = {}
            for number, rates_of_round in by_round.items():
                if number != left_out:
                    for lock, rate in rates_of_round.items():
                        others.setdefault(lock, []).append(rate)
            by_cell += _of_cell(cell, others, one, locks)
    return Agreement(tuple(by_cell))


def _of_cell(
    cell: Cell,
    real: dict[str, list[float]],
    simulated: dict[str, float],
    locks: Sequence[str],
    spreads: Mapping[str, float] | None = None,
) -> list[CellAgreement]:
    both = [lock for lock in locks if lock in real and lock in simulated]
    if not both:
        return []
    tau, pairs, shown = kendall(real, simulated)
    ratios = []
    if BASELINE in both:
        medians = {lock: statistics.median(real[lock]) for lock in both}
        bases = medians[BASELINE], simulated[BASELINE]
        ratios = [
            Ratio(
                cell,
                lock,
                medians[lock] / bases[0],
                simulated[lock] / bases[1],
                (spreads or {}).get(lock, 1.0),
            )
            for lock in both
            if lock != BASELINE
        ]
    return [CellAgreement(cell, tau, pairs, shown, tuple(ratios))]
