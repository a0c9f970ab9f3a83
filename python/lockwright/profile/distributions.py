"""Distributions from a buffer's histograms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import lower_bounds
from lockwright.profile.record import Distribution


def distribution(
    count: float, total: float, samples: int, weights: NDArray[Any] | None, nanoseconds: float
) -> Distribution:
    """Return a distribution with known count and total. total: in ticks of `nanoseconds` each.
    weights: of the histogram's buckets; None where there is only the sum."""
    total_weight = float(weights.sum()) if weights is not None else 0.0
    if weights is None or not total_weight:
        return Distribution(float(count), total * nanoseconds, samples)
    filled, bounds = np.flatnonzero(weights), lower_bounds()
    return Distribution(
        count=float(count),
        total=total * nanoseconds,
        samples=samples,
        p50=_quantile(weights, 0.50) * nanoseconds,
        p90=_quantile(weights, 0.90) * nanoseconds,
        p99=_quantile(weights, 0.99) * nanoseconds,
        most=float(bounds[filled[-1] + 1]) * nanoseconds,
        buckets=tuple((float(bounds[i]) * nanoseconds, float(weights[i])) for i in filled),
    )


def weight_below(weights: NDArray[Any], ticks: float) -> float:
    """Return the weight below a bound; a bucket that contains the bound counts in proportion."""
    bounds = lower_bounds()
    widths = np.diff(bounds)
    shares = np.clip((ticks - bounds[:-1]) / widths, 0.0, 1.0)
    return float((weights * shares).sum())


def _quantile(weights: NDArray[Any], share: float) -> float:
    """Return a quantile in ticks; the durations of a bucket are assumed uniform."""
    sums = np.cumsum(weights)
    target = share * float(sums[-1])
    bucket = int(np.searchsorted(sums, target, side="left"))
    before = float(sums[bucket - 1]) if bucket else 0.0
    inside = (target - before) / float(weights[bucket])
    begin, end = (float(bound) for bound in lower_bounds()[bucket : bucket + 2])
    return begin + inside * (end - begin)
