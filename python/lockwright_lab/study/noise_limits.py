"""Gain and R.Dev without the noise of the runs, with intervals."""

from collections.abc import Callable

import numpy as np
from lockwright.stats.inference import CONFIDENCE
from lockwright.stats.moderated import Vector

from lockwright_lab.study.cells import Row

ENDS = ("quiet", "low", "high")
"""Suffixes of the figure without noise and of the ends of its interval."""

Limits = tuple[float, float, float]

_DRAWS = 1000

_BEYOND = (1 - CONFIDENCE) / 2

_STEPS = 12
"""Bisection steps in the search for a factor, which reduce its range to a thousandth."""

_LARGEST = 2.0**20
"""The largest factor that is tried; a larger one does not bound anything."""


def limits_of_row(row: Row, random: np.random.Generator) -> tuple[Limits, Limits] | None:
    """Return the limits of gain and R.Dev of the locks of one application, in the order of ENDS.

    Noise makes equal locks differ, so both figures are biased upwards, and more so with more locks:
    a figure may lie above its own interval. The interval is that of an inverted test (Carpenter,
    1999): the logarithms of the locks' means are scaled by one factor, noise is added, and the
    interval has the factors under which a figure as small as that of the runs and one as large each
    have a chance of 2.5 % or more. The figure without noise is at the factor under which half of
    the drawn figures are larger.

    The noise of a mean is log-normal with the standard error of its runs, and drawn from Student's
    t instead of the normal distribution to allow for few runs.

    Locks that ran only once are left out, also of the figures. None if fewer than two remain.
    """
    ran = ~np.isnan(row.mean) & ~np.isnan(row.error_degrees)
    if ran.sum() < 2:
        return None
    means = row.mean[ran]
    gain = float(means.max() / means.min() - 1)
    deviation = float(_deviation(means.sum(), (means**2).sum(), len(means)))
    drawn = random.standard_t(row.error_degrees[ran], (_DRAWS, int(ran.sum())))
    scale = np.sqrt(np.log1p(row.error[ran] ** 2))
    # With two runs the t distribution reaches beyond any float.
    noise = np.clip(scale * drawn, -50, 50)
    distances = np.log(means)
    distances = distances - distances.mean()
    equal = np.ptp(distances) < 1e-12
    if equal:
        # The runs do not show in which direction the locks differ, if they do.
        distances = np.linspace(-1, 1, len(distances)) * max(float(scale.max()), 1e-6)
    raised = np.exp(noise)
    squared = raised**2

    def deviations(factor: float) -> Vector:
        means = _exp(factor * distances)
        return _deviation(raised @ means, squared @ means**2, len(means))

    def gains(factor: float) -> Vector:
        return np.asarray(np.ptp(factor * distances + noise, axis=1))

    def ends(figures: Callable[[float], Vector], figure: float) -> list[float]:
        return [_factor(figures, figure, share) for share in (0.5, _BEYOND, 1 - _BEYOND)]

    range_ = float(np.ptp(distances))
    of_gain = [float(np.expm1(min(end * range_, 700.0))) for end in ends(gains, np.log1p(gain))]
    of_deviation = []
    for end in ends(deviations, deviation):
        means = _exp(end * distances)
        of_deviation.append(float(_deviation(means.sum(), (means**2).sum(), len(means))))
    return _as_limits(of_gain), _as_limits(of_deviation)


def _as_limits(values: list[float]) -> Limits:
    quiet, low, high = values
    return quiet, low, high


def _deviation(total: Vector | float, squares: Vector | float, number: int) -> Vector:
    """Return sample standard deviation / mean, from a sum and a sum of squares."""
    mean = np.asarray(total) / number
    variance = (np.asarray(squares) - number * mean**2) / (number - 1)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)) / mean)


def _factor(figures: Callable[[float], Vector], observed: float, share: float) -> float:
    """Return the factor under which `share` of the drawn figures is at least the observed one."""

    def larger(factor: float) -> bool:
        return bool((figures(factor) >= observed).mean() >= share)

    if larger(0.0):
        return 0.0
    low, high = 0.0, 2.0
    while not larger(high):
        if high >= _LARGEST:
            return high
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if larger(middle) else (middle, high)
    return (low + high) / 2


def _exp(logarithms: Vector) -> Vector:
    """Return the exponentials, limited so that they can be squared."""
    return np.asarray(np.exp(np.clip(logarithms, -250, 250)))
