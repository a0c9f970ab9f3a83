"""The results of a contender in a cell: median, spread, and the paired ratio to the reference."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from lockwright.experiment.model import LEFT_OUT, TIMEOUT, Cell, Contender, Figure, Run
from lockwright.stats.inference import Ratio, paired_ratio, spread, with_significance
from lockwright.stats.near import is_near
from lockwright.stats.spread import Spread
from lockwright.stats.spread import spread as quartiles


@dataclass(frozen=True)
class Summary:
    """The results of a contender in a cell.

    runs: all, also warm-up runs, by round. values: of the main figure, of the counted runs that
    have it, in order of rounds; median and spread (relative standard deviation) are None where
    there are too few; ratio: of the main figure to the reference's, of the rounds that both have;
    wanted: number of planned runs; gave_up: whether it is not run again after runs that did not
    finish; mark: `*` for the best, `=` for one whose median is near its, otherwise empty. fate:
    why it was dropped or retained, where contenders are dropped; limit: then of its runs, in
    seconds.
    """

    of_cell: Cell
    of_contender: Contender
    runs: Sequence[Run]
    values: tuple[float, ...]
    median: float | None
    spread: float | None
    ratio: Ratio | None
    wanted: int
    gave_up: bool = False
    mark: str = ""
    fate: str = ""
    limit: float | None = None
    reference: "Summary | None" = field(default=None, repr=False, compare=False)

    @property
    def cell(self) -> str:
        return self.of_cell.name

    @property
    def contender(self) -> str:
        return self.of_contender.name

    @property
    def complete(self) -> bool:
        """True if every counted run has a value."""
        return len(self.values) == self.wanted

    @property
    def timeouts(self) -> int:
        """The number of runs, warm-up runs included, that were killed at their time limit."""
        return sum(run.ended == TIMEOUT for run in self.runs)

    @cached_property
    def failed(self) -> list[Run]:
        """The runs that did not finish for another reason, warm-up runs included."""
        return [run for run in self.runs if not run.finished and run.ended != TIMEOUT]

    @property
    def left_out(self) -> bool:
        """True if the contender cannot run in the cell at all."""
        return any(run.ended == LEFT_OUT for run in self.runs)

    @property
    def failures(self) -> int:
        return len(self.failed)

    @property
    def note(self) -> str:
        """The reason of the first failure."""
        return self.failed[0].note if self.failed else ""

    @property
    def counted(self) -> list[Run]:
        """The runs without those for warm-up."""
        return [run for run in self.runs if run.counted]

    def by_round(self, figure: str) -> dict[int, float]:
        """Return a figure of the counted runs that have it."""
        return {run.round: run.figures[figure] for run in self.counted if figure in run.figures}

    def over_rounds(self, figure: str) -> Spread | None:
        """Return the median and the quartiles of a figure; None without a value."""
        return quartiles(list(self.by_round(figure).values()))

    def details(self, name: str) -> list[Any]:
        """Return a detail of the counted runs that have it."""
        return [run.details[name] for run in self.counted if name in run.details]

    def paired(self, figure: str, lower_is_better: bool = False) -> Ratio | None:
        """Return the ratio of a figure to the reference's, above 1 if better, over the rounds that
        both have; None without one."""
        if self.reference is None:
            return None
        return _ratio(self.by_round(figure), self.reference.by_round(figure), lower_is_better)


def _ratio(own: dict[int, float], base: dict[int, float], lower_is_better: bool) -> Ratio | None:
    rounds = sorted(own.keys() & base.keys())
    return paired_ratio([own[n] for n in rounds], [base[n] for n in rounds], lower_is_better)


def summarise(
    cell: Cell,
    contenders: Sequence[Contender],
    runs_of: "dict[str, list[Run]]",
    figure: Figure,
    reference: str,
    wanted: int,
) -> list[Summary]:
    """Return a summary of each contender, in their order. runs_of: by the name of the contender."""
    by_name: dict[str, dict[int, float]] = {}
    for each in contenders:
        by_name[each.name] = {
            run.round: run.figures[figure.name]
            for run in runs_of.get(each.name, ())
            if run.counted and figure.name in run.figures
        }
    base = by_name.get(reference, {})
    ratios = {
        name: _ratio(values, base, figure.lower_is_better) for name, values in by_name.items()
    }
    rivals = [name for name in by_name if name != reference]
    ratios |= zip(rivals, with_significance([ratios[name] for name in rivals]), strict=True)
    rows = []
    for each in contenders:
        values = tuple(by_name[each.name][number] for number in sorted(by_name[each.name]))
        rows.append(
            Summary(
                cell,
                each,
                runs_of.get(each.name, []),
                values,
                statistics.median(values) if values else None,
                spread(values),
                ratios[each.name],
                wanted,
            )
        )
    own = next((row for row in rows if row.contender == reference), None)
    return [replace(row, reference=own) for row in rows]


def ranked(
    rows: Sequence[Summary], lower_is_better: bool, best: str | None = None
) -> list[Summary]:
    """Return the summaries with marks, the best median first and those without one last. Only a
    contender with a value of every counted run can be marked. best: the best one, if it is not that
    with the best median."""

    def order(row: Summary) -> tuple[bool, float]:
        if row.median is None:
            return (True, 0.0)
        return (False, row.median if lower_is_better else -row.median)

    sorted_rows = sorted(rows, key=order)
    star = next((s for s in sorted_rows if (s.contender == best if best else s.complete)), None)
    if star is None or star.median is None:
        return sorted_rows
    return [replace(row, mark=_mark(row, star.contender, star.median)) for row in sorted_rows]


def _mark(row: Summary, best: str, median: float) -> str:
    if row.contender == best:
        return "*"
    is_marked = row.complete and row.median is not None and is_near(row.median, median)
    return "=" if is_marked else ""
