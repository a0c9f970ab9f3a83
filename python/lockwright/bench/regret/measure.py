"""Makes the runs of a grid: round by round and cell by cell, all contenders of a cell in a row."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lockwright.base import progress
from lockwright.base.errors import LockwrightError
from lockwright.bench.regret.contenders import Contender, Contest
from lockwright.bench.regret.grid import QUOTA, Cell
from lockwright.bench.regret.runs import Run, Runs
from lockwright.bench.report import processors
from lockwright.machine import quota
from lockwright.run.bench_program import Outcome, number, run

FAR_BEHIND = 0.5
"""A lock that has less than this share of the best lock's rate in each of the first two rounds is
not run in that cell again."""

FIRST_ROUNDS = 2

WINDOW_US = 5000
"""Distance between two samples of a run whose regime changes once."""

_TO_END = 10.0
"""Seconds that a run may take beside its measurement before it is killed."""


@dataclass(frozen=True)
class Pace:
    """How long each run measures, in seconds. timeout: None for enough."""

    seconds: float
    warm_up: float
    loops_per_us: float
    bound_ms: float
    timeout: float | None = None

    def limit(self, cell: Cell) -> float:
        """Seconds after which a run of the cell is killed."""
        return self.timeout or self.seconds * cell.length + self.warm_up + _TO_END

    def arguments(self, cell: Cell) -> dict[str, object]:
        """All options of the measuring program."""
        seconds = self.seconds * cell.length
        given: dict[str, object] = {
            "threads": cell.threads,
            "seconds": seconds,
            "warm-up": self.warm_up,
            "loops-per-us": self.loops_per_us,
        }
        if cell.changes_once:
            given |= {"period-us": seconds * 1e6 / 2, "sample-us": WINDOW_US}
        return given | {name: f"{value:g}" for name, value in cell.options}


def measure(
    cells: Sequence[Cell],
    contest: Contest,
    pace: Pace,
    runs: Runs,
    rounds: int,
    keep: Callable[[Run], None],
) -> None:
    """Makes all runs that are not in `runs`, and adds them to it. keep: called with each."""
    with (
        _quota(cells) as prefix,
        progress.Display(_count(cells, contest, runs, rounds), 0) as display,
    ):
        for turn in range(rounds):
            for cell in cells:
                for each in _order(cell, contest, pace, runs, turn):
                    if turn in runs.made(cell.name, each.name):
                        continue
                    left = _left(cells, contest, pace, runs, rounds, turn)
                    about = f"round {turn + 1}, {cell.name}"
                    display.next(f"{about}, {each.name}", f"round {turn + 1} of {rounds}", left)
                    made = _run(cell, each, pace, turn, prefix if cell.quota else ())
                    runs.add(made)
                    keep(made)
                    display.done()


def _count(cells: Sequence[Cell], contest: Contest, runs: Runs, rounds: int) -> int:
    return sum(
        turn not in runs.made(cell.name, each.name)
        for cell in cells
        for each in contest.all
        for turn in range(rounds)
    )


def _order(cell: Cell, contest: Contest, pace: Pace, runs: Runs, turn: int) -> list[Contender]:
    """The contenders of a cell that are still in it, in an order of that round."""
    found = [each for each in contest.all if is_in(cell, each, contest, pace.bound_ms, runs, turn)]
    random.Random(f"{cell.name} {turn}").shuffle(found)
    return found


def is_in(
    cell: Cell, one: Contender, contest: Contest, bound_ms: float, runs: Runs, turn: int
) -> bool:
    """Return whether a contender runs in that round: it survives the cell, and is not far behind.

    The lock under test, with or without its mechanisms, and the baseline run in all rounds.
    """
    if runs.gave_up(cell.name, one.name):
        return False
    if turn < FIRST_ROUNDS or one not in contest.others or one == contest.others[0]:
        return True
    for first in range(FIRST_ROUNDS):
        rates = {
            each.name: made.rate
            for each in (contest.own, *contest.others)
            if (made := runs.of(cell.name, each.name).get(first)) is not None
            and made.longest <= cell.longest_wait(bound_ms)
        }
        made = runs.of(cell.name, one.name).get(first)
        if made is None or made.rate >= FAR_BEHIND * max(rates.values(), default=0.0):
            return True
    return False


def _left(
    cells: Sequence[Cell], contest: Contest, pace: Pace, runs: Runs, rounds: int, now: int
) -> float | None:
    """Seconds that the remaining runs will take, if all contenders stay as they are now."""
    places = [(cell, each) for cell in cells for each in contest.all]
    done = [
        ((cell.name,), made.seconds)
        for cell, each in places
        for made in runs.made(cell.name, each.name).values()
    ]
    to_do = [
        (cell.name,)
        for cell, each in places
        for turn in range(rounds)
        if turn not in runs.made(cell.name, each.name)
        and is_in(cell, each, contest, pace.bound_ms, runs, min(turn, now + 1))
    ]
    return progress.remaining_seconds(done, to_do)


def _run(cell: Cell, each: Contender, pace: Pace, turn: int, prefix: Sequence[str]) -> Run:
    outcome = run(
        each.subject,
        "regimes",
        pace.arguments(cell),
        timeout=pace.limit(cell),
        environment=each.environment,
        prefix=prefix,
    )
    return run_of(outcome, cell.name, each.name, turn)


def run_of(outcome: Outcome, cell: str, contender: str, turn: int) -> Run:
    """The figures of one outcome. Raises LockwrightError if two threads were inside at once."""
    line, final = outcome.line("measured"), outcome.line("final")
    if (
        final is not None
        and "guarded" in final
        and number(final, "guarded") != number(final, "acquisitions")
    ):
        raise LockwrightError(
            f"{contender}, {cell}: two threads were inside the section at once",
            "the lock is broken: leave it out, or check it with 'lockwright check'",
            1,
        )
    made = Run(
        cell,
        contender,
        turn,
        seconds=outcome.seconds,
        others=outcome.others,
        failure=outcome.failure,
    )
    if line is None or outcome.failure:
        return made
    seconds = number(line, "seconds")
    return Run(
        cell,
        contender,
        turn,
        rate=number(line, "acquisitions") / seconds,
        longest=number(line, "longest_wait_ns") / 1e9,
        processors=number(line, "processor_seconds") / seconds,
        seconds=outcome.seconds,
        others=outcome.others,
        samples=tuple(
            (ns / 1e9, float(count))
            for ns, count in zip(
                line.get("sample_ns", ()), line.get("sample_acquisitions", ()), strict=True
            )
        ),
    )


@contextlib.contextmanager
def _quota(cells: Sequence[Cell]) -> Iterator[Sequence[str]]:
    """The words before a command that put it into a group with a quota."""
    if not any(cell.quota for cell in cells):
        yield ()
        return
    with quota.limited_group(QUOTA * processors()) as place:
        yield quota.start_words(place)


def possible(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells that can be measured here, and a remark if some cannot."""
    with_quota = [cell for cell in cells if cell.quota]
    if not with_quota:
        return list(cells), []
    reason = quota.obstacle()
    if not reason:
        return list(cells), []
    remark = f"Left out, {len(with_quota)} cells with a processor quota: {reason}."
    return [cell for cell in cells if not cell.quota], [remark]
