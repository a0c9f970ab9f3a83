"""Predicted figures with their ranges."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A predicted figure: the median over all simulations, and their least and greatest."""

    value: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the estimate of some values; None without any."""
    if not values:
        return None
    return Estimate(statistics.median(values), min(values), max(values))
