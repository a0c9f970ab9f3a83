"""Two locks run in turn until it is known whether one is as good as the other."""

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
"""That a lock is within 5 % of another, or better: the whole interval of its ratio is above NEAR,
or below it, or neither."""


@dataclass(frozen=True)
class Standing:
    """How many times as good a lock is as another: the geometric mean, and an interval that holds
    however often it was looked at. pairs: rounds in which both ran to their ends."""

    ratio: float
    low: float
    high: float
    pairs: int

    @classmethod
    def of(cls, lead: Interval) -> "Standing":
        """That of the logarithm of the ratio."""
        return cls(math.exp(lead.mean), math.exp(lead.low), _exp(lead.high), lead.number)

    @property
    def within(self) -> str:
        """SHOWN, REFUTED or OPEN."""
        if self.low >= NEAR:
            return SHOWN
        return REFUTED if self.high < NEAR else OPEN


SAME = Standing(1.0, 1.0, 1.0, 0)
"""A lock beside itself."""


def duel(one: RealProgram, lock: str, other: str, pairs: int, timeout: float) -> Standing:
    """Runs both once in each round, until it is shown whether `lock` is within 5 % of `other`.

    Which of them is the first changes as in ABBA, so that a steady drift hits both alike. pairs: of
    rounds at most; timeout: seconds of a run.
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
            mine, others = values[lock], values[other]
            if mine and others and min(mine, others) > 0:
                leads.append(sign * math.log(mine / others))
            if Standing.of(interval(leads)).within != OPEN:
                break
    return Standing.of(interval(leads))


def _exp(value: float) -> float:
    return math.exp(value) if math.isfinite(value) else math.inf
