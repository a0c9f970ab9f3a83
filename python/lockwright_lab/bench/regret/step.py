"""The response of a lock to a change of regime in the middle of a run."""

import statistics
from collections.abc import Sequence

from lockwright.stats.near import NEAR

Samples = Sequence[tuple[float, float]]
"""Seconds since the change, negative before it, and acquisitions by then, ascending."""

_STEADY = 0.5
"""Share of the second phase, at its end, that defines the new rate."""

_WINDOW = 0.01
"""Seconds of the window of a rate."""


def count_at(samples: Samples, time: float) -> float:
    """Return the acquisitions by that time, by linear interpolation."""
    before = samples[0]
    for after in samples[1:]:
        if after[0] >= time:
            span = after[0] - before[0]
            share = (time - before[0]) / span if span > 0 else 0.0
            return before[1] + share * (after[1] - before[1])
        before = after
    return before[1]


def rate(samples: Samples, begin: float, end: float) -> float:
    """Return the acquisitions per second between two times."""
    return (count_at(samples, end) - count_at(samples, begin)) / (end - begin)


def settling_time(own: Sequence[Samples], best: Sequence[Samples]) -> float | None:
    """Return the seconds from the change until the rate is within 5 % of the best lock's new rate.

    The new rate is the median over the best lock's runs of the rate in the last half of the second
    phase. From the returned time to the end the lock's mean rate is at least NEAR of it, as is
    the rate in the first window. None if there is no such time.
    """
    if not own or not best:
        return None
    end = min(samples[-1][0] for samples in (*own, *best))
    steady = end - _STEADY * end
    settled = NEAR * statistics.median(rate(samples, steady, end) for samples in best)
    begin = 0.0
    while begin + _WINDOW <= end:
        window = statistics.median(rate(each, begin, begin + _WINDOW) for each in own)
        rest = statistics.median(rate(each, begin, end) for each in own)
        if window >= settled and rest >= settled:
            return begin
        begin += _WINDOW / 2
    return None
