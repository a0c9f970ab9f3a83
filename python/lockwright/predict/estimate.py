"""Predicted figures with their ranges."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.base import numbers


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


def ranged(found: Estimate) -> str:
    """Return a ratio with its range."""
    return (
        f"{numbers.ratio(found.value)} ({numbers.ratio(found.low)} to {numbers.ratio(found.high)})"
    )
