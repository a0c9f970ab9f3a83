"""Which run comes next: rounds that run every configuration once, each in an order of its own."""

import random
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from lockwright.study.campaign.plan import Configuration, Plan
from lockwright.study.campaign.run_record import RunRecord, Slot
from lockwright.study.program.trial import UNENDED

_GIVE_UP = 2
"""Runs of a configuration that do not end in time, after which no more are made."""


class Line:
    """The runs of one machine or, if machines share them, of all.

    A slot that `next` has given is under way until `done` or `lost` is told of it.
    """

    def __init__(self, plan: Plan, runs: Iterable[RunRecord] = ()) -> None:
        """runs: the runs of earlier sittings."""
        self.plan = plan
        self._all = plan.configurations()
        self._kept: dict[Configuration, list[RunRecord]] = {each: [] for each in self._all}
        self._made: set[Slot] = set()
        self._flying: set[Slot] = set()
        self._again: deque[Slot] = deque()
        for each in runs:
            self._keep(each)
        self._round = 1 - plan.warmup
        self._queue = deque(self._order())

    def _order(self) -> list[Slot]:
        order = [Slot(each, self._round) for each in self._all]
        random.Random(f"{self.plan.seed} {self._round}").shuffle(order)
        return sorted(order, key=lambda slot: self.plan.may_take_forever(slot.configuration))

    def _keep(self, run: RunRecord) -> None:
        self._made.add(run.slot)
        self._kept[run.slot.configuration].append(run)

    def next(self, able: Callable[[Configuration], bool] = lambda _: True) -> Slot | None:
        """A slot that can be run now; None while there is none.

        able: whether who asks can run a configuration; others of the round are left for others.
        """
        while True:
            for queue in (self._again, self._queue):
                for slot in list(queue):
                    if not self._wanted(slot):
                        queue.remove(slot)
                    elif able(slot.configuration):
                        queue.remove(slot)
                        self._flying.add(slot)
                        return slot
            if self._queue or self._again or self._round >= self.plan.most_runs:
                return None
            # Whether one more round is needed is known when all before it have ended.
            if self._flying and self._round >= self.plan.runs:
                return None
            self._round += 1
            self._queue = deque(self._order())

    def done(self, run: RunRecord) -> None:
        """A run has ended, or will not be made."""
        self._flying.discard(run.slot)
        if run.slot not in self._made:
            self._keep(run)

    def lost(self, slot: Slot) -> None:
        """A run was dropped before its end: it is to be made again."""
        if slot in self._flying:
            self._flying.discard(slot)
            self._again.append(slot)

    @property
    def finished(self) -> bool:
        """Whether all is done."""
        return not self._flying and not any(True for _ in self.remaining())

    def remaining(self) -> Iterable[Slot]:
        """The slots that are still to be run as far as that is known, those under way left out."""
        seen = self._made | self._flying
        first = min(1 - self.plan.warmup, self._round)
        for number in range(first, self.plan.most_runs + 1):
            for each in self._all:
                slot = Slot(each, number)
                if slot not in seen and self._wanted(slot):
                    yield slot

    def waiting(self) -> Sequence[Slot]:
        """The slots of this round that nobody has been able to run."""
        return [slot for slot in (*self._again, *self._queue) if self._wanted(slot)]

    def _wanted(self, slot: Slot) -> bool:
        if slot in self._made or slot in self._flying:
            return False
        runs = self._kept[slot.configuration]
        if any(each.final for each in runs):
            return False
        timeouts = sum(each.result.outcome in UNENDED for each in runs)
        if timeouts >= _GIVE_UP:
            return False
        if slot.round <= self.plan.runs:
            return True
        values = [
            each.result.value
            for each in runs
            if each.finished and 1 <= each.slot.round < slot.round and each.result.value is not None
        ]
        return spread(values) > self.plan.spread


def spread(values: Sequence[float]) -> float:
    """Relative standard deviation; 0 for fewer than two values."""
    mean = statistics.fmean(values) if len(values) > 1 else 0.0
    return statistics.stdev(values) / abs(mean) if mean else 0.0
