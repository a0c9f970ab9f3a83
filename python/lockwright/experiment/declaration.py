"""The declaration of an experiment."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from lockwright.experiment import columns
from lockwright.experiment.columns import TableOf
from lockwright.experiment.model import (
    TIMEOUT,
    Cell,
    Contender,
    Figure,
    Outcome,
    Runs,
    Slot,
    with_relative_figures,
)
from lockwright.experiment.rules import Rounds
from lockwright.experiment.summary import Summary, ranked, summarise
from lockwright.machine.meters import Meters

GIVE_UP = 2
"""Number of runs that did not finish after which a contender is not run again in the cell."""


@dataclass(frozen=True)
class Experiment:
    """Cells, contenders, figures, and the function that makes a run.

    kind: name of the experiment in files and messages, one word. run: makes the run of a contender
    in a cell and a round, and returns its outcome; it may run several programs, and may be called
    in other threads if at_once is above 1. figures: the first is the main one. settings: all
    that defines the experiment besides the names of cells and contenders, of types of JSON, by
    option; an interrupted experiment is resumed only with equal ones. rounds, warmup: counted runs
    of each contender in each cell, and runs before them. reference: the contender that ratios are
    relative to, by default the first.

    tables: made for each cell, by default one with all figures; remarks: lines below the tables, by
    the summaries of each cell; rule: which contenders run in a round, by default all. give_up_on:
    the endings that count for GIVE_UP. cell_by_cell: makes all rounds of a cell before the next
    one's, instead of every cell in every round. postponed: sort key of the slots of a round, which
    otherwise come by cell. at_once: the number of runs at the same time. around: a context of all
    runs. meters: read around each run by `run`. first: what has to be measured before the first
    run, such as the speed of a loop; its result, of types of JSON, is stored, put into `known`, and
    not measured again by a resumption. help: the words of a command that prints the definitions,
    which then are not part of the text in a terminal. what: the word for a contender in files.
    alone: which slots run with no other at the same time. unfinished: whether some runs are left to
    a later command with --resume. report: changes the usual `lockwright.experiment.report.Report`,
    for tables and files beyond those of every cell.
    """

    kind: str
    cells: Sequence[Cell]
    contenders: Sequence[Contender]
    figures: Sequence[Figure]
    run: Callable[[Cell, Contender, int], Outcome]
    rounds: int = 5
    warmup: int = 0
    reference: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    tables: Sequence[TableOf] = ()
    remarks: "Callable[[Sequence[Sequence[Summary]]], Sequence[str]]" = lambda _: ()
    rule: Rounds | None = None
    give_up_on: frozenset[str] = frozenset({TIMEOUT})
    cell_by_cell: bool = False
    postponed: Callable[[Slot], Any] = lambda _: False
    at_once: int = 1
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    meters: Meters | None = None
    first: Callable[[], Mapping[str, Any]] = dict
    known: dict[str, Any] = field(default_factory=dict)
    help: str = ""
    what: str = "lock"
    alone: Callable[[Slot], bool] = lambda _: False
    unfinished: Callable[[], bool] = lambda: False
    report: Callable[[Any], Any] = lambda usual: usual

    @property
    def main(self) -> Figure:
        """The figure that contenders are compared by."""
        return self.figures[0]

    @property
    def base(self) -> str:
        """The name of the contender that ratios are relative to."""
        return self.reference or self.contenders[0].name

    @property
    def names(self) -> list[str]:
        """The names of the contenders."""
        return [each.name for each in self.contenders]

    @cached_property
    def rounds_rule(self) -> Rounds:
        """The rule, or the usual one."""
        return self.rule or Rounds(self.main.name, self.rounds)

    def cell(self, name: str) -> Cell:
        return next(each for each in self.cells if each.name == name)

    def contender(self, name: str) -> Contender:
        return next(each for each in self.contenders if each.name == name)

    def plan(self) -> dict[str, Any]:
        """Return what an interrupted experiment must have in common with this one to be resumed, as
        it is after it was read from JSON."""
        document = {
            **self.settings,
            "cells": [each.name for each in self.cells],
            "contenders": {each.name: dict(each.environment) for each in self.contenders},
            "runs": self.rounds,
            "warmup": self.warmup,
        }
        plan: dict[str, Any] = json.loads(json.dumps(document, default=str))
        return plan

    def gave_up(self, runs: Runs, cell: str, contender: str) -> bool:
        """Return whether a contender is not run again in the cell, because runs did not finish."""
        made = runs.of(cell, contender)
        return sum(run.ended in self.give_up_on for run in made) >= GIVE_UP

    def summaries(self, runs: Runs) -> list[list[Summary]]:
        """Return the results of each contender, in their order, for each cell."""
        runs = with_relative_figures(runs, self.figures)
        return [self.summaries_of(runs, cell) for cell in self.cells]

    def summaries_of(self, runs: Runs, cell: Cell) -> list[Summary]:
        """Return the results of each contender, in their order, in a cell."""
        of_each = {name: runs.of(cell.name, name) for name in self.names}
        rows = summarise(cell, self.contenders, of_each, self.main, self.base, self.rounds)
        return [replace(row, gave_up=self.gave_up(runs, cell.name, row.contender)) for row in rows]

    def ranking(self, runs: Runs, cell: str) -> list[Summary]:
        """Return the results in a cell, the best contender first, with marks."""
        return ranked(self.summaries_of(runs, self.cell(cell)), self.main.lower_is_better)

    def all_tables(self) -> Sequence[TableOf]:
        """Return the tables, or one with all figures and the ratio of the main one."""
        if self.tables:
            return self.tables
        shown = [columns.with_spread(each) for each in self.figures]
        of_ratio = [columns.ratio(self.main, self.base), columns.interval(self.main, self.base)]
        return [TableOf([columns.name("contender"), *shown, *of_ratio])]
