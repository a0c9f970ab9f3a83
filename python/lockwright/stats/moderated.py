"""Variances of few runs, each steadied by those of the others beside it (Smyth, 2004).

Three runs of a lock say little of how far its runs lie apart; those of eleven other locks of the
same program and thread count say more. The variances of the locks are taken to be spread about a
common one, s0^2, as an inverse chi-squared variable with d0 degrees of freedom is: where they
differ no more than chance has it, d0 is large and the common one counts; where they do differ, d0
is small and each lock keeps its own. Both are estimated from the runs (G. K. Smyth, Linear models
and empirical Bayes methods for assessing differential expression, Stat. Appl. Genet. Mol. Biol.
3 (1), 2004, section 6.2).
"""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_FEWEST = 3
"""So many variances say something of how they are spread."""


def moderated(variances: Vector, degrees: Vector) -> tuple[Vector, Vector]:
    """Variances (d0 s0^2 + d s^2) / (d0 + d) and their degrees of freedom, d0 + d.

    variances: s^2 of the runs of each lock, above 0; degrees: their number less one; NaN for locks
    that are left out. No lock gets more degrees than all have together. Fewer than three variances
    are returned as they are.
    """
    known = ~np.isnan(variances) & ~np.isnan(degrees)
    if known.sum() < _FEWEST:
        return variances, degrees
    common, worth = _prior(variances[known], degrees[known])
    all_degrees = float(degrees[known].sum())
    if np.isinf(worth):
        steadied = np.where(known, common, np.nan)
    else:
        steadied = (worth * common + degrees * variances) / (worth + degrees)
    return steadied, np.minimum(degrees + worth, all_degrees)


def _prior(variances: Vector, degrees: Vector) -> tuple[float, float]:
    """s0^2 and d0, by the mean and the variance of log s^2."""
    from scipy.special import digamma, polygamma

    half = degrees / 2
    logs = np.log(variances) - digamma(half) + np.log(half)
    beyond_chance = float(logs.var(ddof=1) - polygamma(1, half).mean())
    if beyond_chance <= 0:
        return float(np.average(variances, weights=degrees)), float("inf")
    half_worth = _trigamma_inverse(beyond_chance)
    common = np.exp(logs.mean() + digamma(half_worth) - np.log(half_worth))
    return float(common), 2 * half_worth


def _trigamma_inverse(value: float) -> float:
    """Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    if value > 1e7:
        return float(1 / np.sqrt(value))
    if value < 1e-6:
        return 1 / value
    found = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, found))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, found))
        found += step
        if -step / found < 1e-9:
            break
    return found
