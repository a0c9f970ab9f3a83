"""What an experiment consists of: cells, contenders, figures, and the outcomes of runs.

Every contender runs once in each cell in every round. The run of a contender is compared with the
runs of others in the same cell and round.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from lockwright.run.record import FAILED, FINISHED, NO_METRIC, TIMEOUT

__all__ = ["FAILED", "FINISHED", "LEFT_OUT", "NO_METRIC", "TIMEOUT"]

LEFT_OUT = "left out"
"""How a run ended that was not started, because the contender cannot run in the cell at all."""


@dataclass(frozen=True)
class Cell:
    """A condition under which all contenders run. name: unique, the heading of its table, empty for
    the only one; options: what the run needs, of types of JSON, which are columns of JSON and CSV
    files."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Contender:
    """What is compared: mostly a lock, or a lock with settings. name: unique; environment:
    variables of its runs; subject: what the run needs besides, which is not stored."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict, compare=False)
    subject: Any = field(default=None, compare=False)


class Slot(NamedTuple):
    """A run to make, by names. round: from 1; warm-up runs are below 1."""

    cell: str
    contender: str
    round: int

    @property
    def counted(self) -> bool:
        """True if this is not a warm-up run."""
        return self.round >= 1


_NO_SLOT = Slot("", "", 0)


@dataclass(frozen=True)
class Outcome:
    """What `Experiment.run` returns.

    ended: FINISHED, TIMEOUT, FAILED, NO_METRIC, LEFT_OUT or another word for a run that did not
    finish; wall: its seconds; figures: values by the names of figures, all finite; a value counts
    also if the run did not finish; note: the reason if it did not finish; details: of types of
    JSON, stored with the run. Some have a meaning for all experiments: `others`, the share of all
    processors that other processes used; `meters`, the values of lockwright.machine.meters;
    `operations`, their number, for figures of meters per operation; `problems`, lines on what was
    wrong in a run that finished; `remarks`, lines that are printed below the tables.
    """

    ended: str = FINISHED
    wall: float = 0.0
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """True if the run ended as it should."""
        return self.ended == FINISHED


@dataclass(frozen=True)
class Run(Outcome):
    """A run that was made. started: ISO 8601, UTC; machine: its name, or empty for this one."""

    slot: Slot = _NO_SLOT
    started: str = ""
    machine: str = ""

    @property
    def cell(self) -> str:
        return self.slot.cell

    @property
    def contender(self) -> str:
        return self.slot.contender

    @property
    def round(self) -> int:
        return self.slot.round

    @property
    def counted(self) -> bool:
        """True if this is not a warm-up run."""
        return self.slot.counted

    @property
    def others(self) -> float | None:
        """The share of all processors that other processes used, 0..1; None if unknown."""
        return self.details.get("others")

    @property
    def problems(self) -> Sequence[str]:
        """What was wrong in the run, in a line each; a killed run is not one."""
        own = (
            [] if self.finished or self.ended in (TIMEOUT, LEFT_OUT) else [self.note or self.ended]
        )
        return [*own, *self.details.get("problems", ())]

    @property
    def meters(self) -> Mapping[str, float]:
        """The values read around the run, by the keys of lockwright.machine.meters."""
        return self.details.get("meters") or {}


@dataclass(frozen=True)
class Relative:
    """The other run of the same round that a figure is relative to. figure: the divided one, of
    both runs; cell, contender: of the other run, None for those of the run itself."""

    figure: str
    cell: str | None = None
    contender: str | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of a run. name: its key, also in files; unit: of the value; definition: a sentence
    for the legend; heading: of its column, the name without it; scale: divisor of the values in
    tables, which the heading explains; value: computes it from an outcome that does not have it,
    and returns None if it has no such value; relative: it is a quotient of two runs, and is not
    stored."""

    name: str
    unit: str
    lower_is_better: bool = False
    definition: str = ""
    heading: str = ""
    scale: float = 1.0
    value: Callable[[Outcome], float | None] | None = field(default=None, compare=False)
    relative: Relative | None = None


class Runs:
    """The runs of an experiment, in the order in which they were made."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self.all: list[Run] = []
        self._by_pair: dict[tuple[str, str], dict[int, Run]] = defaultdict(dict)
        for run in runs:
            self.add(run)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __contains__(self, slot: Slot) -> bool:
        return slot.round in self._by_pair.get((slot.cell, slot.contender), {})

    def add(self, run: Run) -> None:
        """Add a run; one of a slot that has a run already is left out."""
        if run.slot not in self:
            self.all.append(run)
            self._by_pair[run.cell, run.contender][run.round] = run

    def of(self, cell: str, contender: str, *, counted: bool = False) -> list[Run]:
        """Return the runs of a contender in a cell by round. counted: without warm-up runs."""
        rounds = self._by_pair.get((cell, contender), {})
        return [rounds[number] for number in sorted(rounds) if number >= 1 or not counted]

    def values(self, cell: str, contender: str, figure: str) -> dict[int, float]:
        """Return a figure of the counted runs that have it, by round."""
        return {
            run.round: run.figures[figure]
            for run in self.of(cell, contender, counted=True)
            if figure in run.figures
        }


def with_figures(outcome: Outcome, figures: Sequence[Figure]) -> Outcome:
    """Return the outcome with the figures that are computed from it; none are from a run that
    failed."""
    if outcome.ended in (FAILED, LEFT_OUT):
        return outcome
    computed = {
        figure.name: value
        for figure in figures
        if figure.value is not None
        and figure.name not in outcome.figures
        and (value := figure.value(outcome)) is not None
    }
    return replace(outcome, figures={**outcome.figures, **computed})


def with_relative_figures(runs: Runs, figures: Sequence[Figure]) -> Runs:
    """Return the runs with the figures that are relative to other runs, where both have a value."""
    relative = [(each.name, each.relative) for each in figures if each.relative is not None]
    if not relative:
        return runs
    by_slot = {run.slot: run.figures for run in runs if run.counted}
    return Runs(
        replace(run, figures={**run.figures, **_quotients(run, relative, by_slot)}) for run in runs
    )


def _quotients(
    run: Run,
    relative: Sequence[tuple[str, Relative]],
    by_slot: Mapping[Slot, Mapping[str, float]],
) -> dict[str, float]:
    quotients = {}
    for name, to in relative:
        cell = run.cell if to.cell is None else to.cell
        contender = run.contender if to.contender is None else to.contender
        other = by_slot.get(Slot(cell, contender, run.round), {}).get(to.figure)
        if run.counted and other and to.figure in run.figures:
            quotients[name] = run.figures[to.figure] / other
    return quotients
