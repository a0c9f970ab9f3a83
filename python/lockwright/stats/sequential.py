"""Intervals that hold however often one looks at them while values are still coming in."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.05
"""Chance that any of the intervals of a race ever leaves out what is true."""

_SCALE = 5.0
"""Standard deviation of the normal mixture over differences, in standard deviations of one value.

The interval holds for any. A small one makes it narrow after many values, a large one after few:
with 5, a single difference of 14 standard deviations is told after four values, of 2 after ten.
"""


@dataclass(frozen=True)
class Interval:
    """Of a mean. Without bounds, low is minus infinity and high is infinity."""

    mean: float
    low: float
    high: float
    number: int


def interval(
    values: Sequence[float], error: float = ERROR, usual: "Usual | None" = None
) -> Interval:
    """The interval of the mean of `values`: the chance that it ever leaves it out is `error` at
    most, however often it is computed while they come in, and whatever one decides to do by it.

    It holds those means against which the ratio of likelihoods, the scale being unknown and the
    difference normal with _SCALE, has not reached 1 / error (Ville's inequality; Lai, 1976;
    Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance, Sequential Analysis 44, 2025). Like any t interval it takes the values to be about
    normal. usual: what is known of the deviation from like values; the larger deviation counts.
    """
    number = len(values)
    mean = statistics.fmean(values) if values else 0.0
    if number < 2:
        return Interval(mean, -math.inf, math.inf, number)
    deviation, degrees = statistics.stdev(values), float(number - 1)
    if usual is not None and usual.degrees > degrees:
        deviation, degrees = max(deviation, usual.deviation), usual.degrees
    half = deviation * _reach(number, degrees, error)
    if not math.isfinite(half):
        return Interval(mean, -math.inf, math.inf, number)
    return Interval(mean, mean - half, mean + half, number)


@dataclass(frozen=True)
class Usual:
    """A standard deviation that many series of values share, and its degrees of freedom."""

    deviation: float
    degrees: float


def usual(series: Sequence[Sequence[float]]) -> Usual | None:
    """The median deviation of series that are all taken against the same other one, so that any two
    are correlated by 1/4 in their squares: with k of n values, k (n - 1) / (1 + (k - 1) / 4)
    degrees of freedom. None where there is no series of two values."""
    long = [each for each in series if len(each) > 1]
    if not long:
        return None
    degrees = statistics.median(len(each) - 1 for each in long)
    count = len(long)
    return Usual(
        statistics.median(statistics.stdev(each) for each in long),
        count * degrees / (1 + (count - 1) / 4),
    )


def _reach(number: int, degrees: float, error: float) -> float:
    """Half the interval's width in standard deviations of one value; infinite for too few values.

    With n values, d degrees of freedom and the mixture's variance v, the ratio is
    (1 + n v)^(-1/2) ((1 + x) / (1 + x / (1 + n v)))^((d + 1) / 2), where x = t^2 / d.
    """
    spread = 1 + number * _SCALE**2
    bound = math.exp(2 / (degrees + 1) * (0.5 * math.log(spread) - math.log(error)))
    if bound >= spread:
        return math.inf
    excess = (bound - 1) / (1 - bound / spread)
    return math.sqrt(excess * degrees / number)
