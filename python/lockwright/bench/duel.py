"""Alternating runs of two locks until it is shown whether one is as good as the other."""

import math
from dataclasses import dataclass

from lockwright.bench.real_program import RealProgram
from lockwright.compare.plan import UNSPECIFIED, Slot
from lockwright.compare.runner import Runner
from lockwright.compare.stats import NEAR
from lockwright.machine import calibration
from lockwright.preload.locks import registry
from lockwright.stats.sequential import Interval, interval

SHOWN, REFUTED, OPEN = "shown", "refuted", "not shown"
"""Whether a lock is within 5 % of another, or better: the whole interval of its ratio is above
NEAR, or below it, or neither."""


@dataclass(frozen=True)
class Standing:
    """The ratio of a lock to another: the geometric mean, and an interval that stays valid when it
    is computed after every round. pairs: number of rounds in which both finished."""

    ratio: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, lead: Interval) -> "Standing":
        """Return the standing from the interval of the logarithm of the ratio."""
        return cls(math.exp(lead.mean), math.exp(lead.low), _exp(lead.high), lead.number)

    @property
    def within(self) -> str:
        """SHOWN, REFUTED or OPEN."""
        if self.low >= NEAR:
            return SHOWN
        return REFUTED if self.high < NEAR else OPEN


SAME = Standing(1.0, 1.0, 1.0, 0)
"""The standing of a lock against itself."""


def duel(one: RealProgram, lock: str, other: str, pairs: int, timeout: float) -> Standing:
    """Run both once in each round, until it is shown whether `lock` is within 5 % of `other`.

    Their order alternates as in ABBA, so that a steady drift affects both equally. pairs: largest
    number of rounds; timeout: seconds of a run.
    """
    if lock == other:
        return SAME
    plan = one.plan((lock, other), pairs, timeout)
    known = registry()
    settings = calibration.calibrated_variables(known, plan.locks, one.environment)
    sign = -1 if one.lower_is_better else 1
    leads: list[float] = []
    with Runner(plan, one.file, settings, environment=one.environment) as runner:
        for number in range(1, pairs + 1):
            values = {}
            for name in (lock, other) if number % 4 < 2 else (other, lock):
                slot = Slot(UNSPECIFIED, number, name)
                values[name] = runner.measure(slot, known.path_of(name)).value
            first, second = values[lock], values[other]
            if first and second and min(first, second) > 0:
                leads.append(sign * math.log(first / second))
            if Standing.of(interval(leads)).within != OPEN:
                break
    return Standing.of(interval(leads))


def _exp(value: float) -> float:
    return math.exp(value) if math.isfinite(value) else math.inf
