"""The experiment of `lockwright corpus`: both versions of each case in interleaved rounds."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lockwright.experiment import LEFT_OUT, Cell, Contender, Experiment, Outcome, Runs, TableOf
from lockwright.experiment.model import Slot
from lockwright.experiment.rules import Rounds

from lockwright_lab.bench.program_runs import SPEED
from lockwright_lab.corpus import report
from lockwright_lab.corpus.case import Case
from lockwright_lab.corpus.replay import Replay, judged_in

BEFORE, AFTER = "before", "after"


@dataclass
class WithinTime(Rounds):
    """All rounds that begin before `end`, by the monotonic clock."""

    end: float = float("inf")
    is_over: bool = False

    def wanted(self, slot: Slot, runs: Runs) -> bool:
        # A round that was begun is completed: half of one is of no use.
        is_begun = any(run.round == slot.round for run in runs.of(slot.cell, _other(slot)))
        if not is_begun and time.monotonic() >= self.end:
            self.is_over = True
            return False
        return True


def _other(slot: Slot) -> str:
    return AFTER if slot.contender == BEFORE else BEFORE


def experiment(
    cases: Sequence[Case], rounds: int, budget: float | None, replay: Replay
) -> Experiment:
    """Return the experiment. budget: seconds after which no round begins."""
    by_name = {each.name: each for each in cases}
    known: dict[str, Any] = {}
    end = time.monotonic() + (float("inf") if budget is None else budget)
    rule = WithinTime(SPEED.name, rounds, end=end)

    def run(cell: Cell, contender: Contender, _: int) -> Outcome:
        if problem := judged_in(known, cell.name).problem:
            return Outcome(LEFT_OUT, note=problem)
        return replay.run(by_name[cell.name], [BEFORE, AFTER].index(contender.name))

    @contextmanager
    def around() -> Iterator[None]:
        with replay.processes:
            yield

    return Experiment(
        "corpus",
        [
            Cell(
                each.name,
                {
                    "threads": each.threads,
                    BEFORE: each.sides[0].version,
                    AFTER: each.sides[1].version,
                },
            )
            for each in cases
        ],
        [Contender(BEFORE), Contender(AFTER)],
        [SPEED],
        run,
        rounds,
        reference=BEFORE,
        settings={"sources": [each.source for each in cases], "drd": replay.asks_drd},
        tables=[TableOf([], rows=lambda _: False)],
        rule=rule,
        cell_by_cell=True,
        around=around,
        first=lambda: replay.prepare(cases),
        known=known,
        what="version",
        help="lockwright corpus --help",
        unfinished=lambda: rule.is_over,
        report=lambda usual: report.made(usual, by_name, known),
    )
