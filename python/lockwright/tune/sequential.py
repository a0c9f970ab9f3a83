"""Intervals that hold however often one looks at them while values are still coming in."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.05
"""Chance that any of the intervals of a race ever leaves out what is true."""

_SCALE = 10.0
"""Standard deviation of the normal mixture over differences, in standard deviations of one value.

The interval holds for any. A small one makes it narrow after many values, a large one after few:
with 10, differences of 15 standard deviations are told after four values, of 2 after ten.
"""


@dataclass(frozen=True)
class Interval:
    """Of a mean. Without bounds, low is minus infinity and high is infinity."""

    mean: float
    low: float
    high: float
    number: int


def interval(values: Sequence[float], error: float = ERROR) -> Interval:
    """The interval of the mean of `values`: the chance that it ever leaves it out is `error` at
    most, however often it is computed while they come in, and whatever one decides to do by it.

    It holds those means against which the ratio of likelihoods, the scale being unknown and the
    difference normal with _SCALE, has not reached 1 / error (Ville's inequality; Lai, 1976;
    Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance, Sequential Analysis 44, 2025). Like any t interval it takes the values to
    be about normal.
    """
    number = len(values)
    mean = statistics.fmean(values) if values else 0.0
    reach = _reach(number, error)
    if math.isinf(reach):
        return Interval(mean, -math.inf, math.inf, number)
    half = statistics.stdev(values) * reach
    return Interval(mean, mean - half, mean + half, number)


def _reach(number: int, error: float) -> float:
    """Half the interval's width in sample standard deviations; infinite for too few values.

    With n values and the mixture's variance v, the ratio is
    (1 + n v)^(-1/2) ((1 + x) / (1 + x / (1 + n v)))^(n / 2), where x = t^2 / (n - 1).
    """
    if number < 2:
        return math.inf
    spread = 1 + number * _SCALE**2
    bound = math.exp(2 / number * (0.5 * math.log(spread) - math.log(error)))
    if bound >= spread:
        return math.inf
    excess = (bound - 1) / (1 - bound / spread)
    return math.sqrt(excess * (number - 1) / number)
