"""The next run of a search for the best lock: the one that is expected to improve the
recommendation most, given how locks behaved in other programs and the runs so far.

A lock's value is the logarithm of its figure minus that of the best lock of the program, at least
WORST: how bad a bad lock is does not matter. Before any run, the values of the locks of a program
are jointly normal, with the mean and the covariance of other programs. Frazier, Powell and Dayanik,
"The knowledge-gradient policy for correlated normal beliefs", INFORMS Journal on Computing 21(4),
2009.

All functions take arrays with any number of leading axes, one search each; the last axis is of
locks.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WORST: Final = -0.7
SHRINKAGE: Final = 0.3
"""Of the covariance between locks towards none: few programs tell it. Chosen, like LEVEL and
RUN_SD, on the A-64 of the published study."""

LEVEL: Final = 0.05
"""Variance of the level of all values of a program: its best lock is not known until the end."""

LEAST_VARIANCE: Final = 0.02
"""Of a lock's value, however alike it was in all other programs: the next one may differ."""

RUN_SD: Final = 0.08
"""Standard deviation of the logarithm of a run's figure before any is known, and RUN_WEIGHT, the
number of runs as which that counts."""
RUN_WEIGHT: Final = 5.0

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Prior:
    """The distribution of the values of locks in a program that has not run. mean: of each lock;
    covariance: of each pair."""

    mean: Array
    covariance: Array


def prior_of(values: Array) -> Prior:
    """Return the prior by the values of other programs. values: a row for each program, NaN where a
    lock is unknown; at least two rows. Raises ValueError for fewer."""
    if len(values) < 2:
        raise ValueError("a prior needs the values of two programs at least")
    cut = np.maximum(values, WORST)
    known = np.isfinite(cut)
    sums, numbers = np.where(known, cut, 0).sum(axis=0), known.sum(axis=0)
    mean = np.where(numbers > 0, sums / np.maximum(numbers, 1), cut[known].mean())
    filled = np.where(known, cut, mean)
    covariance = np.atleast_2d(np.cov(filled, rowvar=False))
    # A lock without data is as uncertain as the most uncertain one with data.
    variances = np.diag(covariance).copy()
    variances[~known.any(axis=0)] = variances.max()
    shrunk = (1 - SHRINKAGE) * covariance
    np.fill_diagonal(shrunk, np.maximum(variances, LEAST_VARIANCE))
    return Prior(mean, shrunk + LEVEL)


def flat_prior(count: int, mean: float, variance: float) -> Prior:
    """Return a prior that does not distinguish locks."""
    return Prior(np.full(count, mean), variance * np.eye(count) + LEVEL)


def run_variance(counts: Array, squares: Array) -> Array:
    """Return the variance of a run's logarithm, for each search. counts: runs of each lock;
    squares: sums of the squared deviations of the runs' logarithms from their lock's mean."""
    freedom = np.maximum(counts - 1, 0).sum(axis=-1)
    variance: Array = (RUN_WEIGHT * RUN_SD**2 + squares.sum(axis=-1)) / (RUN_WEIGHT + freedom)
    return variance


def posterior(prior: Prior, counts: Array, means: Array, variance: Array) -> tuple[Array, Array]:
    """Return the mean and the covariance of the values given the runs. means: of the logarithms of
    each lock's runs, of any value without one; variance: of a run's logarithm."""
    has_run = counts > 0
    best = np.max(np.where(has_run, means, -np.inf), axis=-1, keepdims=True)
    observed = np.where(has_run, np.maximum(means - best, WORST), 0.0)
    precision = counts / np.asarray(variance)[..., None]
    diagonal: Array = np.eye(counts.shape[-1]) * precision[..., None, :]
    inverse = np.asarray(np.linalg.inv(prior.covariance), np.float64)
    covariance: Array = np.asarray(np.linalg.inv(inverse + diagonal), np.float64)
    weighted = precision * np.where(has_run, observed - prior.mean, 0.0)
    mean: Array = prior.mean + np.einsum("...ij,...j->...i", covariance, weighted)
    return mean, covariance


def knowledge_gradients(mean: Array, covariance: Array, variance: Array) -> Array:
    """Return, for one more run of each lock, by how much the largest posterior mean is expected to
    grow."""
    spread = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1) + np.asarray(variance)[..., None])
    change = covariance / spread[..., None, :]  # of each mean (row) by a run of each lock (column)
    best = np.zeros(mean.shape)
    for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
        best += weight * (mean[..., :, None] + point * change).max(axis=-2)
    gradients: Array = best - mean.max(axis=-1, keepdims=True)
    return gradients


def recommended(mean: Array, counts: Array) -> NDArray[np.intp]:
    """Return the lock with the largest posterior mean of those that ran."""
    best: NDArray[np.intp] = np.argmax(np.where(counts > 0, mean, -np.inf), axis=-1)
    return best
