"""The rule by which contenders have their own numbers of rounds, and run only for some time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.experiment import FINISHED, Runs
from lockwright.experiment.model import Slot
from lockwright.experiment.rules import Rounds, shuffled


@dataclass
class Parts(Rounds):
    """Each contender has its own number of rounds in each cell, 0 for none.

    rounds: by cell, and the name of the contender; is_timed: whether a run is begun only in time;
    repeats_failed: whether a contender runs again after a run that did not finish.
    """

    rounds: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    is_timed: Callable[[Slot], bool] = lambda _: True
    repeats_failed: bool = True
    _ends: float | None = None

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        own = self.rounds.get(cell, {})
        return shuffled([name for name, last in own.items() if number <= last], cell, number)

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        made = () if self.repeats_failed else runs.of(slot.cell, slot.contender)
        is_late = self.is_late and self.is_timed(slot)
        return not is_late and all(run.ended == FINISHED for run in made)

    def end_after(self, seconds: float | None) -> None:
        """Begin no run that is timed after so many seconds from now."""
        self._ends = None if seconds is None else time.monotonic() + seconds

    @property
    def is_late(self) -> bool:
        """True if no further run that is timed begins."""
        return self._ends is not None and time.monotonic() > self._ends
