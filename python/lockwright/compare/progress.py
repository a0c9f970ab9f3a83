"""How far a comparison is: a live line on a terminal, a plain line now and then elsewhere."""

import signal
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lockwright.compare.plan import AS_IT_IS, Slot
from lockwright.compare.record import Record
from lockwright.compare.warnings import at
from lockwright.terminal import errors


def remaining_seconds(done: Sequence[Record], to_do: Sequence[Slot]) -> float | None:
    """Estimate from the runs made: each run takes as long as its like did. None if none was.

    Its like are runs of the same lock at the same number of threads; failing these, any at that
    number of threads; failing these, any.
    """
    if not done:
        return None
    walls: dict[tuple[int, str], list[float]] = {}
    by_threads: dict[int, list[float]] = {}
    for run in done:
        walls.setdefault((run.threads, run.lock), []).append(run.wall)
        by_threads.setdefault(run.threads, []).append(run.wall)
    means = {key: statistics.fmean(values) for key, values in walls.items()}
    means_by_threads = {key: statistics.fmean(values) for key, values in by_threads.items()}
    overall = statistics.fmean(run.wall for run in done)
    return sum(
        means.get((slot.threads, slot.lock), means_by_threads.get(slot.threads, overall))
        for slot in to_do
    )


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def say(text: str) -> None:
    """A line on standard error that is no error."""
    print(f"lockwright: {text}", file=sys.stderr, flush=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Puts off signals: stopped half-way, the display leaves the terminal without a cursor."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Display:
    """Shows the progress between `with` and its end."""

    def __init__(self, total: int, done: int) -> None:
        """total: runs of the whole comparison; done: those made already."""
        self._live: Progress | None = None
        self._round: tuple[int, int] | None = None
        if sys.stderr.isatty():
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                console=errors(),
                transient=True,
                # Each refresh takes CPU time from what is measured.
                refresh_per_second=1,
            )
            self._task = self._live.add_task("", total=total, completed=done, left="")

    def __enter__(self) -> "Display":
        """Starts showing."""
        try:
            if self._live:
                with _undisturbed():
                    self._live.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Clears what was shown."""
        if self._live:
            with _undisturbed():
                self._live.stop()

    def next(self, slot: Slot, done: Sequence[Record], to_do: Sequence[Slot]) -> None:
        """A run is about to start; to_do has it first."""
        left = remaining_seconds(done, to_do)
        about = f"about {duration(left)} left" if left is not None else ""
        number = f"round {slot.round}" if slot.counted else "warm-up"
        where = at(slot.threads).removeprefix(" at ")
        if self._live:
            text = ", ".join(part for part in (where, number, slot.lock) if part)
            self._live.update(self._task, description=text, left=about)
        elif self._round != (slot.threads, slot.round):
            self._round = (slot.threads, slot.round)
            where = "" if slot.threads == AS_IT_IS else where
            say(", ".join(part for part in (where, number, about) if part))

    def done(self) -> None:
        """A run has ended or was left out."""
        if self._live:
            self._live.advance(self._task)
