"""Figures as a person reads them: as many digits as say something, and no more."""

from lockwright.compare.stats import Ratio

LEAST, MOST = 0.01, 100.0
"""An end of an interval beyond these says only that too little is known."""


def figure(value: float) -> str:
    """A measured value with four significant digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ratio(value: float) -> str:
    """A ratio: two decimals, more below 0.1, so that two digits remain, and fewer from 10 on."""
    if value < 0.0001:
        return "<0.0001"
    if value >= 10_000:
        return ">10,000"
    for limit, decimals in ((100.0, 0), (10.0, 1), (0.1, 2), (0.01, 3), (0.001, 4)):
        if value >= limit:
            return f"{value:,.{decimals}f}"
    return f"{value:.5f}"


def interval(of: Ratio) -> str:
    """The confidence interval of a ratio; `-` where there is none."""
    if of.low is None or of.high is None:
        return "-"
    low, high = _end(of.low), _end(of.high)
    # Both beyond the same limit: once is enough.
    return low if low == high and low[0] in "<>" else f"{low} to {high}"


def _end(value: float) -> str:
    if value < LEAST:
        return f"<{LEAST:g}"
    return f">{MOST:g}" if value > MOST else ratio(value)
