"""When one lock counts as better than another: by a margin, or because the runs show it.

Matrices have a line and a column per lock; [i, j] is about lock i against lock j.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lockwright.base import numbers
from lockwright.stats.inference import CONFIDENCE
from lockwright.study.cells import Matrix, Row

Flags = NDArray[np.bool_]

TOLERANCE = 0.05
"""The margin of the published studies (TOCS 2019, section 4.4)."""

HARM = 0.15
"""A lock is harmful where the best one is better by more than this (TOCS 2019, Table 12)."""


class Rule(Protocol):
    """A definition of `better`."""

    @property
    def intervals(self) -> bool:
        """Whether it uses repetitions, so that figures are shown with intervals."""

    @property
    def meaning(self) -> str:
        """What 'better' means, as one sentence."""

    def better(self, row: Row) -> Flags:
        """Where lock i is better than lock j; False for locks that were not run."""

    def among_best(self, row: Row) -> Flags:
        """Which locks are as good as the best; a vector."""

    def harmful(self, row: Row) -> Flags:
        """Which locks are worse than the best by more than HARM; a vector."""

    def same(self, rows: Sequence[Row]) -> Flags:
        """Where the relation of lock i to lock j is the same in all rows."""


@dataclass(frozen=True)
class Margin:
    """The papers' rule: means that differ by less than 5 % are equal, whatever their spread."""

    tolerance: float = TOLERANCE

    @property
    def intervals(self) -> bool:
        """It compares means only."""
        return False

    @property
    def meaning(self) -> str:
        """The rule as one sentence."""
        return f"better: the mean is more than {100 * self.tolerance:g} % above the other"

    def better(self, row: Row) -> Flags:
        """m(A) > 1.05 m(B): this reproduces the published matrices, 0.95 m(A) > m(B) does not."""
        return _ratios(row) > 1 + self.tolerance

    def among_best(self, row: Row) -> Flags:
        """m >= 0.95 max (TOCS 2019, Table 11)."""
        return np.asarray(row.mean >= (1 - self.tolerance) * _greatest(row))

    def harmful(self, row: Row) -> Flags:
        """max / m - 1 > 15 % (TOCS 2019, Table 12)."""
        return np.asarray(_greatest(row) / row.mean - 1 > HARM)

    def same(self, rows: Sequence[Row]) -> Flags:
        """All better, all worse or all equal, where equal is within 5 % of the better one.

        The margins overlap: a ratio between 1.05 and 1 / 0.95 goes with either. This reproduces the
        published counts of changes; one margin for both does not.
        """
        ratios = np.stack([_ratios(row) for row in rows])
        low, high = 1 - self.tolerance, 1 / (1 - self.tolerance)
        better = (ratios > 1 + self.tolerance).all(axis=0)
        worse = (ratios < low).all(axis=0)
        equal = ((ratios >= low) & (ratios <= high)).all(axis=0)
        return np.asarray(better | worse | equal)


@dataclass(frozen=True)
class Shown:
    """Better means that the runs show it, all pairs of locks of a table line taken together.

    Welch's t test on the logarithms of the runs, with moderated variances (see moderated),
    one-sided, for each ordered pair; Holm's step-down (Holm, 1979) shares the 5 % of error among
    the pairs. A lock with a single run shows nothing.
    """

    @property
    def intervals(self) -> bool:
        """It uses repetitions."""
        return True

    @property
    def meaning(self) -> str:
        """The rule as one sentence."""
        return (
            f"better: shown by the runs with {numbers.percent(CONFIDENCE)} confidence for all "
            "pairs of a line together (Welch, Holm)"
        )

    def better(self, row: Row) -> Flags:
        """Where the ratio of i to j is shown to be above 1."""
        return self._exceeds(row, 0.0)

    def among_best(self, row: Row) -> Flags:
        """No other lock is shown to be better."""
        return np.asarray(~self.better(row).any(axis=0) & ~np.isnan(row.mean))

    def harmful(self, row: Row) -> Flags:
        """Some lock is shown to be better by more than HARM."""
        return np.asarray(self._exceeds(row, HARM).any(axis=0))

    def same(self, rows: Sequence[Row]) -> Flags:
        """The same of: shown to be better, shown to be worse, neither."""
        signs = np.stack([_signs(self.better(row)) for row in rows])
        return np.asarray((signs == signs[0]).all(axis=0))

    def _exceeds(self, row: Row, by: float) -> Flags:
        from scipy.special import stdtr

        first, second = row.variance[:, None], row.variance[None, :]
        summed = first + second
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (row.log[:, None] - row.log[None, :] - np.log1p(by)) / np.sqrt(summed)
            # Welch and Satterthwaite; where neither varies, the runs of both count.
            degrees = summed**2 / (first**2 / row.degrees[:, None] + second**2 / row.degrees)
            degrees = np.where(summed > 0, degrees, row.degrees[:, None] + row.degrees)
            chances = stdtr(degrees, -t)
        np.fill_diagonal(chances, np.nan)
        return holm(chances)


def holm(chances: Matrix) -> Flags:
    """Which hypotheses are rejected together at 1 - CONFIDENCE (Holm, 1979). NaN: no hypothesis."""
    flat = chances.ravel()
    order = np.argsort(flat)  # NaN come last.
    number = int(np.count_nonzero(~np.isnan(flat)))
    limits = (1 - CONFIDENCE) / np.arange(number, 0, -1)
    passed = np.logical_and.accumulate(flat[order[:number]] <= limits)
    rejected = np.zeros(flat.shape, dtype=bool)
    rejected[order[:number]] = passed
    return rejected.reshape(chances.shape)


def _signs(better: Flags) -> NDArray[np.int64]:
    signs: NDArray[np.int64] = better.astype(np.int64) - better.T.astype(np.int64)
    return signs


def _ratios(row: Row) -> Matrix:
    """m(A) / m(B); NaN, which compares as False, for a lock that was not run."""
    ratios: Matrix = row.mean[:, None] / row.mean[None, :]
    np.fill_diagonal(ratios, np.nan)
    return ratios


def _greatest(row: Row) -> float:
    return float(np.nanmax(row.mean)) if not np.isnan(row.mean).all() else float("nan")
