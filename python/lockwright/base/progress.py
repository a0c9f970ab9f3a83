"""The progress of a series of runs: a progress bar on a terminal, plain lines elsewhere."""

import math
import signal
import statistics
import sys
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lockwright.base.interrupts import STOPPING
from lockwright.base.terminal import errors

LINES_APART = 5.0
"""Least seconds between two lines of progress without a terminal, as in a file of a CI run."""

Similarity = Sequence[Hashable]
"""Kinds of a run, most specific first: runs of a common kind take about the same time."""


def remaining_seconds(
    done: Iterable[tuple[Similarity, float]], to_do: Iterable[Similarity]
) -> float | None:
    """Return the estimated seconds for the remaining runs: for each, the mean of the most similar
    runs so far, or else of all runs. None if no run has ended."""
    seconds: dict[Hashable, list[float]] = {}
    for kinds, elapsed in done:
        for kind in (*kinds, None):
            seconds.setdefault(kind, []).append(elapsed)
    if not seconds:
        return None
    means = {kind: statistics.fmean(values) for kind, values in seconds.items()}
    return sum(next(means[kind] for kind in (*kinds, None) if kind in means) for kinds in to_do)


def duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def print_line(text: str) -> None:
    """Print an informational line on standard error."""
    print(f"lockwright: {text}", file=sys.stderr, flush=True)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block the stop signals: an interrupted display leaves the terminal without a cursor."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Display:
    """A progress display for the time of its `with` block. total, done: numbers of runs."""

    def __init__(self, total: int, done: int) -> None:
        self._live: Progress | None = None
        self._line: str | None = None
        self._printed = -math.inf
        if sys.stderr.isatty():
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                console=errors(),
                transient=True,
                # Each refresh takes CPU time from the measured program.
                refresh_per_second=1,
            )
            self._task = self._live.add_task("", total=total, completed=done, left="")

    def __enter__(self) -> "Display":
        try:
            if self._live:
                with _signals_blocked():
                    self._live.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            with _signals_blocked():
                self._live.stop()

    def announce(self, about: str, line: str, left: float | None) -> None:
        """Announce the next run. about: its description. line: the text to print without a
        terminal, unless it is empty, the last one again, or follows it by less than LINES_APART.
        left: seconds until the end, if known."""
        remains = f"about {duration(left)} left" if left is not None else ""
        if self._live:
            self._live.update(self._task, description=about, left=remains)
        elif line and self._line != line and time.monotonic() - self._printed >= LINES_APART:
            self._line, self._printed = line, time.monotonic()
            print_line(", ".join(part for part in (line, remains) if part))

    def set_total(self, total: int) -> None:
        """Set a larger number of runs."""
        if self._live:
            self._live.update(self._task, total=total)

    def advance(self) -> None:
        """Count a run that has ended or was skipped."""
        if self._live:
            self._live.advance(self._task)
