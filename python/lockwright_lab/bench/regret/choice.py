"""The regret of a lock in a cell.

The maximum of many noisy figures is biased upwards. So the runs of even rounds choose the best
other lock, whose runs of odd rounds are compared, and the reverse; no run is used for both.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.stats.inference import Ratio, paired_ratio

Rates = Mapping[int, float]
"""A figure of each round."""


@dataclass(frozen=True)
class Regret:
    """The rate of the best other lock over that of the lock. best: the lock chosen by the even and
    by the odd rounds."""

    ratio: Ratio
    best: tuple[str, str]

    @property
    def value(self) -> float:
        """The ratio less 1: 0.1 if the best other lock is 10 % faster; negative if it is slower."""
        return self.ratio.value - 1

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.ratio.low is None else self.ratio.low - 1

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.ratio.high is None else self.ratio.high - 1


def half_of(rates: Rates, half: int) -> dict[int, float]:
    """Return the figures of the even (0) or odd (1) rounds."""
    return {number: value for number, value in rates.items() if number % 2 == half}


def best_of(
    own: Rates, others: Mapping[str, Rates], half: int, allowed: Sequence[str]
) -> str | None:
    """Return the lock with the best median ratio to `own` in one half of the rounds.

    allowed: the locks that may be best. None if none has a round in common with `own` there.
    """
    half_rates = half_of(own, half)
    medians: dict[str, float] = {}
    for name in allowed:
        rates = others[name]
        if common := half_rates.keys() & rates.keys():
            medians[name] = statistics.median(rates[n] / half_rates[n] for n in common)
    return max(medians, key=lambda name: medians[name], default=None)


def regret(
    own: Rates, others: Mapping[str, Rates], allowed: Sequence[Sequence[str]]
) -> Regret | None:
    """Return the regret, with the interval of Student's t on the logarithms of the rounds' ratios.

    allowed: the locks that may be best by the even, and by the odd rounds. None if a half has no
    runs that can be compared.
    """
    first, second = (best_of(own, others, half, allowed[half]) for half in (0, 1))
    if first is None or second is None:
        return None
    best_rates: list[float] = []
    own_rates: list[float] = []
    for name, compared in ((first, half_of(own, 1)), (second, half_of(own, 0))):
        for round_number, rate in compared.items():
            if round_number in others[name]:
                best_rates.append(others[name][round_number])
                own_rates.append(rate)
    ratio = paired_ratio(best_rates, own_rates, lower_is_better=False)
    return None if ratio is None else Regret(ratio, (first, second))


def paired(values: Rates, baseline: Rates) -> Ratio | None:
    """Return `values` over `baseline`, over the rounds that both have; None if there are none."""
    common = [round_number for round_number in values if round_number in baseline]
    return paired_ratio(
        [values[round_number] for round_number in common],
        [baseline[round_number] for round_number in common],
        lower_is_better=False,
    )
