"""Which contenders run in a round: all of them, those that are not decided, those that keep up."""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.experiment.model import Runs, Slot
from lockwright.stats.inference import spread


@dataclass
class Rounds:
    """The usual rule, and the base of others: all contenders run in rounds 1 to `least`, and then,
    up to `most`, those whose main figure has a relative standard deviation above `deviation`."""

    figure: str
    least: int
    most: int = 0
    deviation: float = 0.0

    @property
    def last(self) -> int:
        """The number of the last round."""
        return max(self.least, self.most)

    @property
    def is_open(self) -> bool:
        """True if it is unknown how many rounds there will be."""
        return False

    def needs_results(self, number: int) -> bool:
        """Return whether all earlier runs must have ended before this round is begun."""
        return number > self.least

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        """Return the contenders of a round in their order; () if the cell has no further round.
        contenders: all of them."""
        return shuffled(contenders, cell, number)

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        """Return whether a run is to be made, by the runs so far; called right before it, too."""
        if slot.round <= self.least:
            return True
        values = runs.values(slot.cell, slot.contender, self.figure)
        deviation = spread([value for number, value in values.items() if number < slot.round])
        return deviation is not None and deviation > self.deviation

    def state(self, slot: Slot, runs: Runs) -> Sequence[str]:
        """Return what the progress display says about the rule besides the cell and the round."""
        return ()


@dataclass
class KeepUp(Rounds):
    """All contenders run in the first rounds; then those drop out of a cell that had less than
    `share` of the best value in each of these. A higher value is better.

    always: contenders that run in all rounds; ranked: those that the best is taken of, all if
    empty; limits: for each cell, a figure and the value above which a run is not taken as the best.
    """

    share: float = 0.5
    first_rounds: int = 2
    always: Collection[str] = ()
    ranked: Collection[str] = ()
    limits: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    def needs_results(self, number: int) -> bool:
        return number > self.first_rounds

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        behind = self._behind(cell, contenders, runs) if number > self.first_rounds else ()
        return shuffled([name for name in contenders if name not in behind], cell, number)

    def _behind(self, cell: str, contenders: Sequence[str], runs: Runs) -> set[str]:
        ranked = [name for name in contenders if not self.ranked or name in self.ranked]
        behind = []
        for number in range(1, self.first_rounds + 1):
            made = [run for name in ranked for run in runs.of(cell, name) if run.round == number]
            values = {run.contender: run.figures[self.figure] for run in made if run.finished}
            name, limit = self.limits.get(cell, (self.figure, math.inf))
            within = [
                run.figures[self.figure]
                for run in made
                if run.finished and run.figures.get(name, 0.0) <= limit
            ]
            bound = self.share * max(within, default=0.0)
            behind.append({name for name, value in values.items() if value < bound})
        return set.intersection(*behind) - set(self.always)


def shuffled(names: Sequence[str], *seed: object) -> list[str]:
    """Return the names in an order that depends on the seed alone, so that an interrupted
    experiment resumes in its order."""
    order = list(names)
    random.Random(" ".join(map(str, seed))).shuffle(order)
    return order
