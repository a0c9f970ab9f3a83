"""The order of runs: rounds in each of which every contender runs once in every cell.

Within a cell the order of the contenders is shuffled for the round, by a seed that is constant, so
that a drift of the machine affects all alike and an interrupted experiment resumes in its order.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import LEFT_OUT, Run, Runs, Slot


class Schedule:
    """The runs that are missing, for one process or for the workers of a fleet. A slot that `next`
    returned is under way until `done` or `lost` is called for it."""

    def __init__(self, experiment: Experiment, runs: Runs) -> None:
        """Begin with the first round. runs: those of earlier sessions, to which `done` adds."""
        self.experiment = experiment
        self.runs = runs
        self._running: set[Slot] = set()
        self._lost: deque[Slot] = deque()
        cells = [each.name for each in experiment.cells]
        self._groups = [[cell] for cell in cells] if experiment.cell_by_cell else [cells]
        self._group = 0
        self._round = -experiment.warmup
        self._queue: deque[Slot] = deque()
        self._advance()

    @property
    def round(self) -> int:
        """The round that is under way; below 1 for warm-up runs."""
        return self._round

    def next(self, able: Callable[[Slot], bool] = lambda _: True) -> Slot | None:
        """Return a slot that can be run now; None while there is none. able: whether the caller can
        run it; the others stay in the round."""
        while True:
            for queue in (self._lost, self._queue):
                for slot in list(queue):
                    if not self._wanted(slot):
                        queue.remove(slot)
                    elif able(slot):
                        queue.remove(slot)
                        self._running.add(slot)
                        return slot
            if self._queue or self._lost or not self._advance():
                return None

    def _advance(self) -> bool:
        """Begin the next round with slots. Return False if there is none, or none yet."""
        rule = self.experiment.rounds_rule
        while self._group < len(self._groups):
            if self._running and rule.needs_results(self._round + 1):
                return False
            self._round += 1
            slots = self._slots(self._group, self._round) if self._round <= rule.last else []
            if slots:
                self._queue = deque(sorted(slots, key=self.experiment.postponed))
                return True
            self._group += 1
            self._round = -self.experiment.warmup
        return False

    def _slots(self, group: int, number: int) -> list[Slot]:
        names, rule = self.experiment.names, self.experiment.rounds_rule
        return [
            Slot(cell, name, number)
            for cell in self._groups[group]
            for name in rule.entrants(cell, number, names, self.runs)
        ]

    def done(self, run: Run) -> None:
        """Record a run that has ended or is left out."""
        self._running.discard(run.slot)
        self.runs.add(run)

    def lost(self, slot: Slot) -> None:
        """Queue a run again that was dropped before its end."""
        if slot in self._running:
            self._running.discard(slot)
            self._lost.append(slot)

    @property
    def finished(self) -> bool:
        """True if no run is under way or to be made."""
        while not self._running and not self.waiting():
            if not self._advance():
                return True
        return False

    def waiting(self) -> Sequence[Slot]:
        """Return the slots of this round that have not started."""
        return [slot for slot in (*self._lost, *self._queue) if self._wanted(slot)]

    def remaining(self) -> Iterator[Slot]:
        """Yield the slots to be run as far as known, without those under way."""
        yield from self.waiting()
        rule, first = self.experiment.rounds_rule, self._round + 1
        for group in range(self._group, 0 if rule.is_open else len(self._groups)):
            for number in range(first, rule.last + 1):
                yield from filter(self._wanted, self._slots(group, number))
            first = 1 - self.experiment.warmup

    def _wanted(self, slot: Slot) -> bool:
        experiment, runs = self.experiment, self.runs
        if slot in runs or slot in self._running:
            return False
        if any(run.ended == LEFT_OUT for run in runs.of(slot.cell, slot.contender)):
            return False
        if experiment.gave_up(runs, slot.cell, slot.contender):
            return False
        return experiment.rounds_rule.wanted(slot, runs)
