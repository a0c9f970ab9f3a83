"""The runs in their order: by round, by cell, and by contender."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from lockwright.base import progress

from lockwright_lab.bench.regret.contenders import Contender, Contest
from lockwright_lab.bench.regret.grid import Cell
from lockwright_lab.bench.regret.runs import Run, Runs

FAR_BEHIND = 0.5
"""A lock that has less than this share of the best lock's rate in each of the first two rounds is
not run in that cell again."""

FIRST_ROUNDS = 2


class Runner(Protocol):
    """A machine, real or simulated, on which contenders run."""

    def run(
        self,
        cell: Cell,
        contenders: Sequence[Contender],
        round_number: int,
        show: Callable[[str], None],
    ) -> Iterator[Run]:
        """Yield a run of each contender. show: called with its name when it begins."""


def measure(
    cells: Sequence[Cell],
    contest: Contest,
    bound_ms: float,
    runs: Runs,
    rounds: int,
    runner: Runner,
    store: Callable[[Run], None],
) -> None:
    """Make all runs that are not in `runs`, and add them to it. store: called with each."""
    with progress.Display(_count(cells, contest, runs, rounds), 0) as display:
        for round_number in range(rounds):
            for cell in cells:
                remaining = remaining_contenders(cell, contest, bound_ms, runs, round_number)
                random.Random(f"{cell.name} {round_number}").shuffle(remaining)
                missing = [
                    each
                    for each in remaining
                    if round_number not in runs.made(cell.name, each.name)
                ]
                if not missing:
                    continue
                show = partial(
                    _show,
                    display,
                    f"round {round_number + 1} of {rounds}",
                    f"round {round_number + 1}, {cell.name}",
                    _seconds_left(cells, contest, bound_ms, runs, rounds, round_number),
                )
                for run in runner.run(cell, missing, round_number, show):
                    runs.add(run)
                    store(run)
                    display.advance()


def _show(display: progress.Display, line: str, about: str, left: float | None, name: str) -> None:
    display.announce(f"{about}, {name}", line, left)


def _count(cells: Sequence[Cell], contest: Contest, runs: Runs, rounds: int) -> int:
    return sum(
        round_number not in runs.made(cell.name, each.name)
        for cell in cells
        for each in contest.all
        for round_number in range(rounds)
    )


def remaining_contenders(
    cell: Cell, contest: Contest, bound_ms: float, runs: Runs, round_number: int
) -> list[Contender]:
    """Return the contenders that run in that round: those that have not given up in the
    cell, and are not far behind.

    The lock under test, with and without its mechanisms, and the first other, which is the
    baseline, run in all rounds.
    """
    survivors = [each for each in contest.all if not runs.gave_up(cell.name, each.name)]
    if round_number < FIRST_ROUNDS:
        return survivors
    bound = cell.longest_wait(bound_ms)
    behind: list[set[str]] = []
    for first in range(FIRST_ROUNDS):
        of_round = {
            each.name: run
            for each in (contest.own, *contest.others)
            if (run := runs.made(cell.name, each.name).get(first)) is not None and not run.failure
        }
        best = max((run.rate for run in of_round.values() if run.longest <= bound), default=0.0)
        behind.append({name for name, run in of_round.items() if run.rate < FAR_BEHIND * best})
    dropped = set.intersection(*behind) & {each.name for each in contest.others[1:]}
    return [each for each in survivors if each.name not in dropped]


def _seconds_left(
    cells: Sequence[Cell],
    contest: Contest,
    bound_ms: float,
    runs: Runs,
    rounds: int,
    round_number: int,
) -> float | None:
    """Return the seconds that the remaining runs will take, if no further contender is dropped."""
    done = [
        ((cell.name,), run.seconds)
        for cell in cells
        for each in contest.all
        for run in runs.made(cell.name, each.name).values()
    ]
    to_do = [
        (cell.name,)
        for cell in cells
        for each in remaining_contenders(cell, contest, bound_ms, runs, round_number + 1)
        for _ in range(rounds - len(runs.made(cell.name, each.name)))
    ]
    return progress.remaining_seconds(done, to_do)
