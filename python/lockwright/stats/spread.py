"""Medians and quartiles of values, and their text."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockwright.base.numbers import plain


@dataclass(frozen=True)
class Spread:
    """The median of `count` values with the first and third quartile (inclusive method)."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """Return the median and quartiles; None if there are no values."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high, len(values))


def format_spread(figures: Spread | None, unit: float = 1.0) -> str:
    """Return `median ±p %` in multiples of `unit`; "-" for None. p is half the distance between the
    quartiles in per cent of the median, and left out if it is 0."""
    return _with_spread(figures, unit, plain)


def format_ratio(figures: Spread | None) -> str:
    """Return the text of a ratio like `format_spread`, with three decimals."""
    return _with_spread(figures, 1.0, lambda v: f"{v:.3f}" if v >= 0.01 else plain(v))


def _with_spread(figures: Spread | None, unit: float, text: Callable[[float], str]) -> str:
    if figures is None:
        return "-"
    half = (figures.high - figures.low) / 2
    if half == 0 or figures.median == 0:
        return text(figures.median / unit)
    share = 100 * half / abs(figures.median)
    return f"{text(figures.median / unit)} ±{share:.1f} %"
