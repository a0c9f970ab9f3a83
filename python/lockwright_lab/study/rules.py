"""The rules for one lock being better than another: by a margin, or shown by the runs.

Matrices have a row and a column per lock; [i, j] compares lock i with lock j.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from lockwright.base import numbers
from lockwright.stats.inference import CONFIDENCE
from lockwright.stats.near import HARM, NEAR, TOLERANCE
from numpy.typing import NDArray

from lockwright_lab.study.cells import Matrix, Row

Flags = NDArray[np.bool_]


class Rule(Protocol):
    """A definition of `better`."""

    @property
    def intervals(self) -> bool:
        """True if the rule uses repetitions, so that figures have intervals."""

    @property
    def meaning(self) -> str:
        """The meaning of 'better', as one sentence."""

    def better(self, row: Row) -> Flags:
        """Return where lock i is better than lock j; False for locks that were not run."""

    def among_best(self, row: Row) -> Flags:
        """Return the vector of locks that are as good as the best."""

    def harmful(self, row: Row) -> Flags:
        """Return the vector of locks that are worse than the best by more than HARM."""

    def same(self, rows: Sequence[Row]) -> Flags:
        """Return where the relation of lock i to lock j is the same in all rows."""


@dataclass(frozen=True)
class Margin:
    """The papers' rule: means that differ by less than 5 % are equal, whatever their spread."""

    tolerance: float = TOLERANCE

    @property
    def intervals(self) -> bool:
        return False

    @property
    def meaning(self) -> str:
        return f"better: the mean is more than {100 * self.tolerance:g} % above the other"

    def better(self, row: Row) -> Flags:
        """Return where m(A) > 1.05 m(B), which reproduces the published matrices, unlike 0.95 m(A)
        > m(B)."""
        return _ratios(row) > 1 + self.tolerance

    def among_best(self, row: Row) -> Flags:
        """Return where m >= 0.95 max (TOCS 2019, Table 11)."""
        return np.asarray(row.mean >= (1 - self.tolerance) * _greatest(row))

    def harmful(self, row: Row) -> Flags:
        """Return where max / m - 1 > 15 % (TOCS 2019, Table 12)."""
        return np.asarray(_greatest(row) / row.mean - 1 > HARM)

    def same(self, rows: Sequence[Row]) -> Flags:
        """Return where all are better, all worse or all equal, that is within 5 % of the better. A
        ratio between 1.05 and 1 / 0.95 counts as either, since only overlapping margins reproduce
        the published counts of changes."""
        ratios = np.stack([_ratios(row) for row in rows])
        low, high = 1 - self.tolerance, 1 / (1 - self.tolerance)
        better = (ratios > 1 + self.tolerance).all(axis=0)
        worse = (ratios < low).all(axis=0)
        equal = ((ratios >= low) & (ratios <= high)).all(axis=0)
        return np.asarray(better | worse | equal)


@dataclass(frozen=True)
class Shown:
    """The rule that the runs have to show a difference, with one error for all pairs of a row. Each
    ordered pair has a one-sided Welch's t test on the logarithms of the runs, with moderated
    variances (see moderated); Holm's step-down (Holm, 1979) shares the 5 % of error among the
    pairs. A lock with a single run shows nothing."""

    @property
    def intervals(self) -> bool:
        return True

    @property
    def meaning(self) -> str:
        return (
            f"better: shown by the runs with {numbers.percent(CONFIDENCE)} confidence for all "
            "pairs of a line together (Welch, Holm)"
        )

    def better(self, row: Row) -> Flags:
        """Return where the ratio of i to j is shown to be above 1."""
        return self._exceeds(row, 0.0)

    def among_best(self, row: Row) -> Flags:
        """Return the locks that are near the best and that no other is shown to beat."""
        return np.asarray(~self.better(row).any(axis=0) & (row.mean >= NEAR * _greatest(row)))

    def harmful(self, row: Row) -> Flags:
        """Return the locks that another one is shown to beat by more than HARM."""
        return np.asarray(self._exceeds(row, HARM).any(axis=0))

    def same(self, rows: Sequence[Row]) -> Flags:
        """Return where all rows agree: shown to be better, shown to be worse, or neither."""
        signs = np.stack([_signs(self.better(row)) for row in rows])
        return np.asarray((signs == signs[0]).all(axis=0))

    def _exceeds(self, row: Row, by: float) -> Flags:
        from scipy.special import stdtr

        first, second = row.variance[:, None], row.variance[None, :]
        summed = first + second
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (row.log[:, None] - row.log[None, :] - np.log1p(by)) / np.sqrt(summed)
            # Welch and Satterthwaite; the runs of both count where neither varies.
            degrees = summed**2 / (first**2 / row.degrees[:, None] + second**2 / row.degrees)
            degrees = np.where(summed > 0, degrees, row.degrees[:, None] + row.degrees)
            chances = stdtr(degrees, -t)
        np.fill_diagonal(chances, np.nan)
        return holm(chances)


def holm(chances: Matrix) -> Flags:
    """Return which hypotheses are rejected with a joint error of 1 - CONFIDENCE (Holm, 1979). NaN:
    no hypothesis."""
    flat = chances.ravel()
    order = np.argsort(flat)  # NaN come last.
    number = int(np.count_nonzero(~np.isnan(flat)))
    limits = (1 - CONFIDENCE) / np.arange(number, 0, -1)
    below_limit = np.logical_and.accumulate(flat[order[:number]] <= limits)
    rejected = np.zeros(flat.shape, dtype=bool)
    rejected[order[:number]] = below_limit
    return rejected.reshape(chances.shape)


def _signs(better: Flags) -> NDArray[np.int64]:
    signs: NDArray[np.int64] = better.astype(np.int64) - better.T.astype(np.int64)
    return signs


def _ratios(row: Row) -> Matrix:
    """Return m(A) / m(B); NaN, which compares as False, for a lock that was not run."""
    ratios: Matrix = row.mean[:, None] / row.mean[None, :]
    np.fill_diagonal(ratios, np.nan)
    return ratios


def _greatest(row: Row) -> float:
    return float(np.nanmax(row.mean)) if not np.isnan(row.mean).all() else float("nan")
