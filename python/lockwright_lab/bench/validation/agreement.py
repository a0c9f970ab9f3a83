"""The agreement of predicted or simulated rates of locks with measured ones: the metric of
docs/lab/validation.md."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

BASELINE = "pthread"


@dataclass(frozen=True)
class Measured:
    """The measured rates of a lock. is_bound: its runs were ended at their limit, and the one rate
    is the highest possible one."""

    rates: Sequence[float]
    is_bound: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    @property
    def range(self) -> float:
        """The distance of the largest rate from the smallest."""
        return max(self.rates) - min(self.rates)


@dataclass(frozen=True)
class Metric:
    """When two rates differ, and when a ratio agrees. tie: medians that differ by no more than this
    share are not shown to differ; near: of an expected ratio divided by the measured one."""

    tie: float
    near: Callable[[float], bool]

    def is_shown(self, first: Measured, second: Measured) -> bool:
        """Return True if the medians differ by more than the sum of the ranges of the rates. One
        run has no range and shows nothing, unless it is a bound."""
        if first.is_bound and second.is_bound:
            return False
        if any(len(each.rates) < 2 and not each.is_bound for each in (first, second)):
            return False
        difference, least = abs(first.median - second.median), min(first.median, second.median)
        return difference > first.range + second.range and difference > self.tie * least


@dataclass(frozen=True)
class Ratio:
    """The ratio of a lock to the baseline, measured and expected."""

    lock: str
    measured: float
    expected: float
    is_near: bool


@dataclass(frozen=True)
class Cell:
    """The agreement for a subject, a workload or a program, with a number of threads. shown: pairs
    of locks that the runs show to differ; right, wrong: those of them in the expected order, and in
    the reverse one."""

    subject: str
    threads: int
    pairs: int
    shown: int
    right: int
    wrong: int
    ratios: tuple[Ratio, ...]

    @property
    def tau(self) -> float | None:
        """Kendall's tau over the shown pairs; None without any."""
        return (self.right - self.wrong) / self.shown if self.shown else None


def cell(
    subject: str,
    threads: int,
    measured: Mapping[str, Measured],
    expected: Mapping[str, float],
    metric: Metric,
) -> Cell | None:
    """Return the agreement of expected rates with those measured, by lock; None without a lock that
    has both."""
    both = sorted(measured.keys() & expected.keys())
    if not both:
        return None
    pairs = list(combinations(both, 2))
    shown = [pair for pair in pairs if metric.is_shown(*(measured[lock] for lock in pair))]
    orders = [
        (measured[a].median - measured[b].median) * (expected[a] - expected[b]) for a, b in shown
    ]
    ratios = []
    for lock in both if BASELINE in both and expected[BASELINE] else ():
        ours = measured[lock].median / measured[BASELINE].median
        theirs = expected[lock] / expected[BASELINE]
        below = measured[lock].is_bound and theirs <= ours
        ratios.append(Ratio(lock, ours, theirs, below or metric.near(theirs / ours)))
    others = tuple(ratio for ratio in ratios if ratio.lock != BASELINE)
    right, wrong = sum(order > 0 for order in orders), sum(order < 0 for order in orders)
    return Cell(subject, threads, len(pairs), len(shown), right, wrong, others)


@dataclass(frozen=True)
class Agreement:
    """The agreement in several cells."""

    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, cells: "Iterable[Cell | None]") -> "Agreement":
        """Return the agreement in the cells that there are."""
        return cls(tuple(each for each in cells if each is not None))

    @property
    def median_tau(self) -> float | None:
        """The median over the cells that have a tau."""
        taus = [each.tau for each in self.cells if each.tau is not None]
        return statistics.median(taus) if taus else None

    @property
    def shown(self) -> int:
        return sum(each.shown for each in self.cells)

    @property
    def in_order(self) -> float | None:
        """The share of the shown pairs that are in the expected order."""
        return sum(each.right for each in self.cells) / self.shown if self.shown else None

    @property
    def near(self) -> list[bool]:
        """Of each ratio whether it is near."""
        return [ratio.is_near for each in self.cells for ratio in each.ratios]

    def of_subject(self, subject: str) -> "Agreement":
        """Return the agreement in the cells of a subject."""
        return Agreement(tuple(each for each in self.cells if each.subject == subject))


def share(values: Sequence[bool]) -> float | None:
    """Return the share of true values; None without any."""
    return sum(values) / len(values) if values else None
