"""Ratios of paired runs, and confidence intervals."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

CONFIDENCE = 0.95
"""Two-sided coverage of every interval."""


@dataclass(frozen=True)
class Ratio:
    """The ratio to the baseline, above 1 if better, with its confidence interval. low, high and
    deviation (of the logarithms of the rounds' ratios) are None where fewer than two rounds are
    paired. shown: whether it is shown to differ from 1, see `with_significance`."""

    value: float
    low: float | None
    high: float | None
    deviation: float | None
    rounds: int
    shown: bool = False

    @property
    def better(self) -> bool:
        """True if it is shown to be better than the baseline."""
        return self.shown and self.value > 1

    @property
    def worse(self) -> bool:
        """True if it is shown to be worse than the baseline."""
        return self.shown and self.value < 1


def spread(values: Sequence[float]) -> float | None:
    """Return the relative standard deviation, sample (n - 1) over mean; None for fewer than two
    values."""
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    return statistics.stdev(values) / abs(mean) if mean else None


def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def paired_ratio(
    values: Sequence[float], baseline: Sequence[float], lower_is_better: bool
) -> Ratio | None:
    """Return the geometric mean of per-round ratios, with a t interval on their logarithms. values
    and baseline are of the same rounds in the same order. Above 1 is better than the baseline,
    whether low or high values are good. None if there is no round, or a value is not positive or
    not finite."""
    if not _are_positive(values, baseline):
        return None
    sign = -1 if lower_is_better else 1
    logs = [sign * (math.log(a) - math.log(b)) for a, b in zip(values, baseline, strict=True)]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(_exp(mean), None, None, None, len(logs))
    deviation = statistics.stdev(logs)
    half = t_quantile(len(logs) - 1) * deviation / math.sqrt(len(logs))
    return Ratio(_exp(mean), _exp(mean - half), _exp(mean + half), deviation, len(logs))


def independent_ratio(
    values: Sequence[float],
    baseline: Sequence[float],
    lower_is_better: bool,
    confidence: float = CONFIDENCE,
) -> Ratio | None:
    """Return the ratio of the geometric means of runs that are not paired, with Welch's t interval
    on the logarithms (Welch, Biometrika 34, 1947). Above 1 is better than the baseline. None if
    either has no value, or one that is not positive or not finite."""
    if not _are_positive(values, baseline):
        return None
    sign = -1 if lower_is_better else 1
    logs = [[sign * math.log(value) for value in series] for series in (values, baseline)]
    mean = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    rounds = min(map(len, logs))
    if rounds < 2:
        return Ratio(_exp(mean), None, None, None, rounds)
    errors = [statistics.variance(series) / len(series) for series in logs]
    half = 0.0
    if sum(errors) > 0:
        degrees = sum(errors) ** 2 / sum(
            error**2 / (len(series) - 1) for error, series in zip(errors, logs, strict=True)
        )
        half = t_quantile(degrees, confidence) * math.sqrt(sum(errors))
    return Ratio(_exp(mean), _exp(mean - half), _exp(mean + half), None, rounds)


def _are_positive(values: Sequence[float], baseline: Sequence[float]) -> bool:
    """Return whether there are values of both kinds, all of them positive and finite."""
    return bool(values and baseline) and all(0 < each < math.inf for each in (*values, *baseline))


def _exp(logarithm: float) -> float:
    # A float cannot hold more, and an interval of that width is of no use.
    return math.exp(max(-300.0, min(300.0, logarithm)))


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return an interval of the median with at least 95 % confidence for any distribution: the k-th
    smallest and the k-th largest value, for the largest such k by the binomial distribution
    (Conover, Practical Nonparametric Statistics, section 3.2). None for fewer than six values,
    which have no such k.
    """
    count, tail, rank = len(values), 0.0, 0
    while rank < count:
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        rank += 1
    if rank == 0 or 2 * rank > count:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[count - rank]


def with_significance(ratios: Sequence[Ratio | None]) -> list[Ratio | None]:
    """Return the ratios of all locks to one baseline, with `shown` set.

    One of many locks may be the best by chance, and a few runs may agree by chance. So two
    intervals must exclude 1: the lock's own, and one with the median lock's deviation where that
    is larger, whose 5 % of error is shared among the locks (Bonferroni). Its degrees of freedom
    are those of k deviations of n - 1 each, of which any two are correlated by 1/4 because they
    share the baseline's runs: k (n - 1) / (1 + (k - 1) / 4).
    """
    rounds = max((r.rounds for r in ratios if r is not None), default=0)
    known = [r.deviation for r in ratios if r and r.rounds == rounds and r.deviation is not None]
    if not known:
        return list(ratios)
    usual = statistics.median(known)
    degrees = len(known) * (rounds - 1) / (1 + (len(known) - 1) / 4)
    limit = t_quantile(degrees, 1 - (1 - CONFIDENCE) / len(known))

    def shown(ratio: Ratio) -> bool:
        if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
            return False
        error = max(usual, ratio.deviation or 0.0) / math.sqrt(ratio.rounds)
        return abs(math.log(ratio.value)) > limit * error

    return [r if r is None else replace(r, shown=shown(r)) for r in ratios]


def modified_z_scores(values: Sequence[float]) -> list[float]:
    """Return modified z-scores: the distance from the median in robust standard deviations. The
    robust standard deviation is 1.4826 times the median absolute deviation (Rousseeuw and Croux,
    1993). All 0 where more than half of the values are equal."""
    middle = statistics.median(values)
    scale = 1.4826 * statistics.median(abs(value - middle) for value in values)
    return [(value - middle) / scale if scale else 0.0 for value in values]
