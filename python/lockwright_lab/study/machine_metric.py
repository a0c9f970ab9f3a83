"""The runs of one machine in one metric, and the tables that are computed from them once."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from lockwright_lab.study import changes, descriptive, effect
from lockwright_lab.study.cells import POINTS, Cells
from lockwright_lab.study.dataset import Sample
from lockwright_lab.study.rules import Rule


@dataclass(frozen=True)
class MachineMetric:
    """One machine in one metric. cells: of all applications. counts: those for the table of
    changes, by default those of most applications, and for the best_lock ratio, by default all."""

    sample: Sample
    rule: Rule
    cells: Cells
    counts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The prefix of the names of its tables."""
        return f"{self.sample.machine}.{self.sample.metric}"

    @cached_property
    def effect(self) -> pd.DataFrame:
        return effect.effect(self.cells, self.rule)

    @cached_property
    def unfinished(self) -> pd.DataFrame:
        return descriptive.unfinished(self.sample)

    @cached_property
    def sensitive(self) -> Cells:
        """The lock-sensitive applications only."""
        return self.cells.only(effect.sensitive(self.effect))

    def among_best(self, point: str) -> pd.DataFrame:
        """Return which locks are among the best at a point, a row per application."""
        return descriptive.among_best(self.cells, self.rule, self.unfinished, point)

    @cached_property
    def best(self) -> pd.DataFrame:
        return descriptive.best_share(self.sensitive, self.rule, self.unfinished)

    @cached_property
    def harmful(self) -> pd.DataFrame:
        return descriptive.harmful_share(self.sensitive, self.rule)

    @cached_property
    def matrices(self) -> dict[str, pd.DataFrame]:
        return {point: descriptive.pairwise(self.sensitive, self.rule, point) for point in POINTS}

    @cached_property
    def changes(self) -> pd.DataFrame | None:
        """The table of changes; None where there are fewer than two counts."""
        ran = set(self.sensitive.mean.index.get_level_values(1))
        if len(ran) < 2:
            return None
        counts = [count for count in self.counts if count in ran]
        if len(counts) < 2:
            counts = changes.usual_counts(self.sensitive)
        return changes.changes(self.sensitive, self.rule, counts)
