"""Alternating runs of two locks until it is shown whether one is as good as the other."""

import math
from dataclasses import dataclass

from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.runner import VALUE, Runner
from lockwright.machine import calibration
from lockwright.preload.locks import registry
from lockwright.stats.near import NEAR
from lockwright.stats.sequential import Interval, interval

from lockwright_lab.bench.real_program import RealProgram

SHOWN, REFUTED, OPEN = "shown", "refuted", "not shown"
"""The verdict that a lock is within 5 % of another, or better: the interval of its ratio is above
NEAR, below NEAR, or contains it."""


@dataclass(frozen=True)
class PairRatio:
    """The ratio of a lock to another: the geometric mean, and an interval that stays valid when it
    is computed after every round. pairs: number of rounds in which both finished."""

    ratio: float
    low: float
    high: float
    pairs: int

    @classmethod
    def from_logarithm(cls, ratio: Interval) -> "PairRatio":
        """Return the ratio from the interval of its logarithm."""
        high = math.exp(ratio.high) if math.isfinite(ratio.high) else math.inf
        return cls(math.exp(ratio.mean), math.exp(ratio.low), high, ratio.number)

    @property
    def within(self) -> str:
        """SHOWN, REFUTED or OPEN."""
        if self.low >= NEAR:
            return SHOWN
        return REFUTED if self.high < NEAR else OPEN


SAME = PairRatio(1.0, 1.0, 1.0, 0)
"""The ratio of a lock to itself."""


def alternate(program: RealProgram, lock: str, other: str, pairs: int, timeout: float) -> PairRatio:
    """Run both once in each round, until it is shown whether `lock` is within 5 % of `other`.

    Their order alternates as in ABBA, so that a steady drift affects both equally. pairs: largest
    number of rounds; timeout: seconds of a run.
    """
    if lock == other:
        return SAME
    plan = program.plan((lock, other), pairs, timeout)
    known = registry()
    settings = calibration.calibrated_variables(known, plan.locks, program.environment)
    sign = -1 if program.lower_is_better else 1
    logarithms: list[float] = []
    with Runner(plan, program.file, settings, environment=program.environment) as runner:
        for number in range(1, pairs + 1):
            values = {}
            for name in (lock, other) if number % 4 < 2 else (other, lock):
                made = runner.measure(UNSPECIFIED, name, known.path_of(name))
                values[name] = made.figures.get(VALUE)
            first, second = values[lock], values[other]
            if first and second and min(first, second) > 0:
                logarithms.append(sign * math.log(first / second))
            if PairRatio.from_logarithm(interval(logarithms)).within != OPEN:
                break
    return PairRatio.from_logarithm(interval(logarithms))
