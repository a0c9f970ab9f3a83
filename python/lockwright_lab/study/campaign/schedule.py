"""The order of runs: rounds that run every configuration once, each in its own random order."""

import random
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from lockwright_lab.study.campaign.plan import Configuration, Plan
from lockwright_lab.study.campaign.run_record import RunRecord, Slot
from lockwright_lab.study.program.trial import UNENDED

_GIVE_UP = 2
"""Number of runs of a configuration that do not end in time, after which no more are made."""


class Schedule:
    """The runs of one machine or, if machines share them, of all. A slot that `next` returned is
    under way until `done` or `lost` is called for it."""

    def __init__(self, plan: Plan, runs: Iterable[RunRecord] = ()) -> None:
        """Begin with the first round. runs: those of earlier sessions."""
        self.plan = plan
        self._all = plan.configurations()
        self._runs: dict[Configuration, list[RunRecord]] = {key: [] for key in self._all}
        self._ended: set[Slot] = set()
        self._running: set[Slot] = set()
        self._lost: deque[Slot] = deque()
        for run in runs:
            self._store_run(run)
        self._round = 1 - plan.warmup
        self._queue = deque(self._order())

    def _order(self) -> list[Slot]:
        order = [Slot(configuration, self._round) for configuration in self._all]
        random.Random(f"{self.plan.seed} {self._round}").shuffle(order)
        return sorted(order, key=lambda slot: self.plan.may_take_forever(slot.configuration))

    def _store_run(self, run: RunRecord) -> None:
        # A damaged file may have others.
        if run.slot.configuration in self._runs:
            self._ended.add(run.slot)
            self._runs[run.slot.configuration].append(run)

    def next(self, able: Callable[[Configuration], bool] = lambda _: True) -> Slot | None:
        """Return a slot that can be run now; None while there is none. able: whether the calling
        machine can run a configuration; other slots stay in the round."""
        while True:
            for queue in (self._lost, self._queue):
                for slot in list(queue):
                    if not self._wanted(slot):
                        queue.remove(slot)
                    elif able(slot.configuration):
                        queue.remove(slot)
                        self._running.add(slot)
                        return slot
            if self._queue or self._lost or self._round >= self.plan.most_runs:
                return None
            # All runs must have ended to decide whether another round is needed.
            if self._running and self._round >= self.plan.runs:
                return None
            self._round += 1
            self._queue = deque(self._order())

    def done(self, run: RunRecord) -> None:
        """Record a run that has ended or is left out."""
        self._running.discard(run.slot)
        if run.slot not in self._ended:
            self._store_run(run)

    def lost(self, slot: Slot) -> None:
        """Queue a run again that was dropped before its end."""
        if slot in self._running:
            self._running.discard(slot)
            self._lost.append(slot)

    @property
    def finished(self) -> bool:
        return not self._running and not any(True for _ in self.remaining())

    def remaining(self) -> Iterable[Slot]:
        """Yield the slots to be run as far as known, without those under way."""
        started = self._ended | self._running
        first = min(1 - self.plan.warmup, self._round)
        for round_number in range(first, self.plan.most_runs + 1):
            for configuration in self._all:
                slot = Slot(configuration, round_number)
                if slot not in started and self._wanted(slot):
                    yield slot

    def waiting(self) -> Sequence[Slot]:
        """Return the slots of this round that have not started."""
        return [slot for slot in (*self._lost, *self._queue) if self._wanted(slot)]

    def _wanted(self, slot: Slot) -> bool:
        if slot in self._ended or slot in self._running:
            return False
        runs = self._runs[slot.configuration]
        if any(run.final for run in runs):
            return False
        timeouts = sum(run.result.outcome in UNENDED for run in runs)
        if timeouts >= _GIVE_UP:
            return False
        if slot.round <= self.plan.runs:
            return True
        values = [
            run.result.value
            for run in runs
            if run.finished and 1 <= run.slot.round < slot.round and run.result.value is not None
        ]
        return spread(values) > self.plan.spread


def spread(values: Sequence[float]) -> float:
    """Return the relative standard deviation; 0 for fewer than two values."""
    mean = statistics.fmean(values) if len(values) > 1 else 0.0
    return statistics.stdev(values) / abs(mean) if mean else 0.0
