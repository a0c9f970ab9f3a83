"""The runs of contenders on this machine, by the measuring program."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import processors
from lockwright.machine import quota
from lockwright.run.bench_program import Outcome, number, run

from lockwright_lab.bench.regret.contenders import Contender
from lockwright_lab.bench.regret.grid import QUOTA, Cell
from lockwright_lab.bench.regret.runs import Run

WINDOW_US = 5000
"""Distance between two samples of a run whose regime changes once."""

_MARGIN = 0.01
"""Seconds by which a run whose regime changes once ends before its second period does."""

_TO_END = 10.0
"""Seconds in addition to its measurement after which a run is killed."""


@dataclass(frozen=True)
class RunLengths:
    """The lengths of all runs in seconds. timeout: None for a limit by the length."""

    seconds: float
    warm_up: float
    loops_per_us: float
    timeout: float | None = None

    def change(self, cell: Cell) -> float:
        """Return the seconds after which the regime changes; 0 if it does not."""
        return self.seconds * cell.length / 2 if cell.changes_once else 0.0

    def limit(self, cell: Cell) -> float:
        """Return the seconds after which a run of the cell is killed."""
        return self.timeout or self.seconds * cell.length + self.warm_up + _TO_END

    def arguments(self, cell: Cell) -> dict[str, object]:
        """Return all options of the measuring program."""
        seconds = self.seconds * cell.length
        options: dict[str, object] = {
            "threads": cell.threads,
            "seconds": seconds,
            "warm-up": self.warm_up,
            "loops-per-us": self.loops_per_us,
        }
        if cell.changes_once:
            # After two periods the first regime would come again.
            options |= {"seconds": seconds - min(_MARGIN, seconds / 4), "sample-us": WINDOW_US}
            options["period-us"] = 1e6 * self.change(cell)
        return options | {name: f"{value:g}" for name, value in cell.options}


@dataclass(frozen=True)
class Native:
    """This machine. prefix: words that start a command in a group with a quota."""

    lengths: RunLengths
    prefix: Sequence[str] = ()

    def run(
        self,
        cell: Cell,
        contenders: Sequence[Contender],
        round_number: int,
        show: Callable[[str], None],
    ) -> Iterator[Run]:
        for each in contenders:
            show(each.name)
            outcome = run(
                each.subject,
                "regimes",
                self.lengths.arguments(cell),
                timeout=self.lengths.limit(cell),
                environment=each.environment,
                prefix=self.prefix if cell.quota else (),
            )
            yield run_of(outcome, cell.name, each.name, round_number, self.lengths.change(cell))


@contextlib.contextmanager
def this_machine(cells: Sequence[Cell], lengths: RunLengths) -> Iterator[Native]:
    """Create the group with a quota if a cell needs it, and remove it at the end."""
    if not any(cell.quota for cell in cells):
        yield Native(lengths)
        return
    with quota.limited_group(QUOTA * processors()) as group:
        yield Native(lengths, quota.start_words(group))


def run_of(
    outcome: Outcome, cell: str, contender: str, round_number: int, change: float = 0.0
) -> Run:
    """Return the figures of one run, whose regime changes after `change` seconds.

    Raises LockwrightError if two threads were inside at once.
    """
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
    unmeasured = Run(
        cell,
        contender,
        round_number,
        seconds=outcome.seconds,
        others=outcome.others,
        failure=outcome.failure,
    )
    if line is None or outcome.failure:
        return unmeasured
    seconds = number(line, "seconds")
    return replace(
        unmeasured,
        rate=number(line, "acquisitions") / seconds,
        longest=number(line, "longest_wait_ns") / 1e9,
        processors=number(line, "processor_seconds") / seconds,
        samples=tuple(
            (ns / 1e9 - change, float(count))
            for ns, count in zip(
                line.get("sample_ns", ()), line.get("sample_acquisitions", ()), strict=True
            )
        ),
    )


def possible(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """Return the cells that can be measured here, and a remark if some cannot."""
    without_quota = [cell for cell in cells if not cell.quota]
    left_out = len(cells) - len(without_quota)
    if left_out == 0 or not (reason := quota.obstacle()):
        return list(cells), []
    return without_quota, [f"Left out, {left_out} cells with a processor quota: {reason}."]
