"""The experiment of `lockwright bench advice`: the named locks beside others, in each cell."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockwright.experiment import (
    LEFT_OUT,
    Cell,
    Contender,
    Experiment,
    Outcome,
    Runs,
    TableOf,
)
from lockwright.experiment.model import Slot
from lockwright.experiment.rules import Rounds, shuffled
from lockwright.preload.locks import BASELINE, registry

from lockwright_lab.bench.advice import report
from lockwright_lab.bench.advice.advised import OTHERS, advise_all, advised_in, locks_of
from lockwright_lab.bench.advice.busy import busy_processors
from lockwright_lab.bench.advice.subjects import Conditions
from lockwright_lab.bench.advice.verdict import verdict
from lockwright_lab.bench.installed import RATE, Installed
from lockwright_lab.study.campaign.local_machine import Folders

_BEFORE = 8.0
"""Seconds of the profile and the advice of a cell, about."""


@dataclass(frozen=True)
class Lengths:
    """rounds, most: of each lock, and of those whose intervals leave open whether the first named
    one harms, or is near the best; seconds: of a run, about; timeout: of a run in seconds."""

    rounds: int
    most: int
    seconds: float
    timeout: float

    def minutes(self, cells: int) -> float:
        """Return about how long so many cells take: with two named locks, and one of the former
        rules, that are not among OTHERS, in half of the cells."""
        runs = self.rounds * (2 + len(OTHERS) + 1.5)
        return cells * (_BEFORE + runs * (self.seconds + 0.1)) / 60


@dataclass
class UntilDecided(Rounds):
    """All locks of a cell run in the first rounds; then the first named one does while it is open
    whether it harms, and the best and the named ones if that may gain. known: as of
    `advised_in`."""

    known: Mapping[str, Any] = field(default_factory=dict)

    def entrants(
        self, cell: str, number: int, contenders: Sequence[str], runs: Runs
    ) -> Sequence[str]:
        advised = advised_in(self.known, cell)
        if number <= self.least:
            return shuffled(locks_of(advised), cell, number)
        found = verdict(runs, cell, locks_of(advised), advised.named, advised.former, self.least)
        if advised.problem or found is None:
            return ()
        return shuffled(sorted(found.undecided()), cell, number)

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        return True


def experiment(
    conditions: Sequence[Conditions],
    left_out: Sequence[str],
    lengths: Lengths,
    folder: Path,
    places: Folders,
    advise: Callable[[Sequence[Conditions], Path, Folders], dict[str, Any]] = advise_all,
) -> Experiment:
    """Return the experiment. left_out: a line for each program that cannot run; folder: of the
    profiles; advise: finds what `Advised` has for each cell."""
    by_name = {each.name: each for each in conditions}
    known: dict[str, Any] = {}
    installed = Installed(places, lengths.timeout)

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        if problem := advised_in(known, cell.name).problem:
            return Outcome(LEFT_OUT, note=problem)
        of = by_name[cell.name]
        subject = of.subject
        with busy_processors() if of.is_busy else nullcontext():
            return installed.run(
                cell.name, contender.name, subject.program, subject.threads, subject.scale
            )

    return Experiment(
        "advice",
        [
            Cell(name, {"program": of.subject.name, "threads": of.threads, "load": of.load})
            for name, of in by_name.items()
        ],
        [Contender(name) for name in [BASELINE, *(n for n in registry().names if n != BASELINE)]],
        [RATE],
        run,
        lengths.rounds,
        reference=BASELINE,
        settings={"seconds": lengths.seconds, "timeout": lengths.timeout, "most": lengths.most},
        tables=[TableOf([], rows=lambda _: False)],
        rule=UntilDecided(
            RATE.name, lengths.rounds, max(lengths.most, lengths.rounds), known=known
        ),
        cell_by_cell=True,
        around=installed.closed_at_end,
        first=lambda: advise(conditions, folder, places),
        known=known,
        help="lockwright bench advice --help",
        report=lambda usual: report.made(usual, known, left_out),
    )
