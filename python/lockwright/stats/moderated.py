"""Moderated variances of a few runs, estimated with those of other locks (Smyth, 2004).

The variance of a few runs of a lock is uncertain; those of other locks with the same program and
thread count help to estimate it. The variances of the locks are modelled as scattered about a
common one, s0^2, like an inverse chi-squared variable with d0 degrees of freedom: where they
differ no more than by chance, d0 is large and the common one dominates; where they do differ, d0
is small and each lock retains its own. Both are estimated from the runs (G. K. Smyth, Linear models
and empirical Bayes methods for assessing differential expression, Stat. Appl. Genet. Mol. Biol.
3 (1), 2004, section 6.2).
"""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_FEWEST = 3
"""Least number of variances from which their scatter is estimated."""


def moderated(variances: Vector, degrees: Vector) -> tuple[Vector, Vector]:
    """Return variances (d0 s0^2 + d s^2) / (d0 + d) and their degrees of freedom, d0 + d.
    variances: s^2 of the runs of each lock, above 0; degrees: their number less one; NaN for locks
    that are left out. No lock gets more degrees than all have together. Fewer than three variances
    are returned as they are."""
    known = ~np.isnan(variances) & ~np.isnan(degrees)
    if known.sum() < _FEWEST:
        return variances, degrees
    common, prior_degrees = _prior(variances[known], degrees[known])
    all_degrees = float(degrees[known].sum())
    if np.isinf(prior_degrees):
        result = np.where(known, common, np.nan)
    else:
        result = (prior_degrees * common + degrees * variances) / (prior_degrees + degrees)
    return result, np.minimum(degrees + prior_degrees, all_degrees)


def _prior(variances: Vector, degrees: Vector) -> tuple[float, float]:
    """Return s0^2 and d0, by the mean and the variance of log s^2."""
    from scipy.special import digamma, polygamma

    half = degrees / 2
    logs = np.log(variances) - digamma(half) + np.log(half)
    beyond_chance = float(logs.var(ddof=1) - polygamma(1, half).mean())
    if beyond_chance <= 0:
        return float(np.average(variances, weights=degrees)), float("inf")
    half_prior = _trigamma_inverse(beyond_chance)
    common = np.exp(logs.mean() + digamma(half_prior) - np.log(half_prior))
    return float(common), 2 * half_prior


def _trigamma_inverse(value: float) -> float:
    """Return the inverse of trigamma by Newton's method on 1 / trigamma, which is convex (Smyth
    2004, appendix)."""
    from scipy.special import polygamma

    if value > 1e7:
        return float(1 / np.sqrt(value))
    if value < 1e-6:
        return 1 / value
    result = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, result))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, result))
        result += step
        if -step / result < 1e-9:
            break
    return result
