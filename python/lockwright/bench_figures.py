"""Medians and spreads, and how they are written."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Median of `count` values with the first and third quartile (inclusive method)."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """None if there are no values."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(middle, low, high, len(values))


def plain(value: float) -> str:
    """Three significant digits, thousands separated, no exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}" if size >= 0.0001 else f"{value:.1e}"


def show(figures: Spread | None, unit: float = 1.0) -> str:
    """`median (low to high)` in multiples of `unit`; "-" for None."""
    if figures is None:
        return "-"
    median, low, high = (plain(v / unit) for v in (figures.median, figures.low, figures.high))
    return median if low == high == median else f"{median} ({low} to {high})"


def show_ratio(figures: Spread | None) -> str:
    """As `show`, with the decimals that comparing ratios needs."""
    if figures is None:
        return "-"

    def text(v: float) -> str:
        return f"{v:.3f}" if v >= 0.01 else plain(v)

    return f"{text(figures.median)} ({text(figures.low)} to {text(figures.high)})"
