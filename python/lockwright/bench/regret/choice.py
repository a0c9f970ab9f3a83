"""The regret of a lock in a cell.

The maximum of many noisy figures is too high. So the runs of even rounds choose the best other
lock, whose runs of odd rounds are compared, and the other way round; no run is used for both.
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
    return {
        round_number: value for round_number, value in rates.items() if round_number % 2 == half
    }


def best_of(
    own: Rates, others: Mapping[str, Rates], half: int, allowed: Sequence[str]
) -> str | None:
    """Return the lock with the best median ratio to `own` in one half of the rounds.

    allowed: those that may be best. None if none has a round in common with `own` there.
    """
    wanted = half_of(own, half)
    found: dict[str, float] = {}
    for name in allowed:
        common = wanted.keys() & others[name].keys()
        if common:
            found[name] = statistics.median(
                others[name][round_number] / wanted[round_number] for round_number in common
            )
    return max(found, key=lambda name: found[name], default=None)


def regret(
    own: Rates, others: Mapping[str, Rates], allowed: Sequence[Sequence[str]]
) -> Regret | None:
    """Return the regret, with the interval of Student's t on the logarithms of the rounds' ratios.

    allowed: the locks that may be best by the even, and by the odd rounds. None if a half has no
    runs that can be compared.
    """
    chosen = [best_of(own, others, half, allowed[half]) for half in (0, 1)]
    first, second = chosen
    if first is None or second is None:
        return None
    theirs: list[float] = []
    mine: list[float] = []
    for name, compared in ((first, half_of(own, 1)), (second, half_of(own, 0))):
        for round_number, value in compared.items():
            if round_number in others[name]:
                theirs.append(others[name][round_number])
                mine.append(value)
    ratio = paired_ratio(theirs, mine, lower_is_better=False)
    return None if ratio is None else Regret(ratio, (first, second))


def paired(values: Rates, baseline: Rates) -> Ratio | None:
    """Return `values` over `baseline`, over the rounds that both have; None if there are none."""
    common = [round_number for round_number in values if round_number in baseline]
    return paired_ratio(
        [values[round_number] for round_number in common],
        [baseline[round_number] for round_number in common],
        lower_is_better=False,
    )
