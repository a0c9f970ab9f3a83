"""Confidence sequences: intervals that stay valid when they are computed after every new value."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.05
"""Chance that any of the intervals of a race ever excludes the true value."""

_SCALE = 5.0
"""Standard deviation of the normal mixture over differences, in standard deviations of one value.
The interval is valid for any scale: a small one makes it narrow after many values, a large one
after few. With 5, a difference of 14 standard deviations is detected after four values, one of 2
after ten."""


@dataclass(frozen=True)
class Interval:
    """The interval of a mean. Without bounds, low is minus infinity and high is infinity."""

    mean: float
    low: float
    high: float
    number: int


def interval(
    values: Sequence[float], error: float = ERROR, shared: "SharedDeviation | None" = None
) -> Interval:
    """Return the interval of the mean of `values`: the chance that it ever excludes the mean is at
    most `error`, however often it is computed as values arrive, and whatever stopping rule is used.

    It contains the means against which the ratio of likelihoods, the scale being unknown and the
    difference normal with _SCALE, has not reached 1 / error (Ville's inequality; Lai, 1976;
    Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance, Sequential Analysis 44, 2025). Like any t interval it assumes values that are about
    normal. shared: the deviation of similar values; the larger deviation counts.
    """
    number = len(values)
    mean = statistics.fmean(values) if values else 0.0
    if number < 2:
        return Interval(mean, -math.inf, math.inf, number)
    deviation, degrees = statistics.stdev(values), float(number - 1)
    if shared is not None and shared.degrees > degrees:
        deviation, degrees = max(deviation, shared.deviation), shared.degrees
    half = deviation * _reach(number, degrees, error)
    if not math.isfinite(half):
        return Interval(mean, -math.inf, math.inf, number)
    return Interval(mean, mean - half, mean + half, number)


@dataclass(frozen=True)
class SharedDeviation:
    """A standard deviation that many series of values share, and its degrees of freedom."""

    deviation: float
    degrees: float


def shared_deviation(series: Sequence[Sequence[float]]) -> SharedDeviation | None:
    """Return the median deviation of series of differences from the same baseline, so that any two
    are correlated by 1/4 in their squares: with k of n values, k (n - 1) / (1 + (k - 1) / 4)
    degrees of freedom. None where no series has two values."""
    long_series = [values for values in series if len(values) > 1]
    if not long_series:
        return None
    degrees = statistics.median(len(values) - 1 for values in long_series)
    count = len(long_series)
    return SharedDeviation(
        statistics.median(statistics.stdev(values) for values in long_series),
        count * degrees / (1 + (count - 1) / 4),
    )


def _reach(number: int, degrees: float, error: float) -> float:
    """Return half the interval's width in standard deviations of one value; infinite for too few.
    With n values, d degrees of freedom and the mixture's variance v, the ratio is (1 + n v)^(-1/2)
    ((1 + x) / (1 + x / (1 + n v)))^((d + 1) / 2), where x = t^2 / d."""
    spread = 1 + number * _SCALE**2
    bound = math.exp(2 / (degrees + 1) * (0.5 * math.log(spread) - math.log(error)))
    if bound >= spread:
        return math.inf
    excess = (bound - 1) / (1 - bound / spread)
    return math.sqrt(excess * degrees / number)
