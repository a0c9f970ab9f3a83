"""How far the runs are: a live line on a terminal, a plain line now and then elsewhere."""

import signal
import statistics
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lockwright.base.terminal import errors

Similarity = Sequence[Hashable]
"""Kinds of a run, the closest first: runs of the same first kind take about as long; without any,
those of the same second kind; and so on."""


def remaining_seconds(
    done: Iterable[tuple[Similarity, float]], to_do: Iterable[Similarity]
) -> float | None:
    """Seconds that the remaining runs will take: each as long as the runs most like it did, or else
    as all did. None if no run was made."""
    seconds: dict[Hashable, list[float]] = {}
    for likes, taken in done:
        for like in (*likes, None):
            seconds.setdefault(like, []).append(taken)
    if not seconds:
        return None
    means = {like: statistics.fmean(values) for like, values in seconds.items()}
    return sum(next(means[like] for like in (*likes, None) if like in means) for likes in to_do)


def duration(seconds: float) -> str:
    """A duration for people."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def print_line(text: str) -> None:
    """Prints a line on standard error that is not an error."""
    print(f"lockwright: {text}", file=sys.stderr, flush=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Defers signals: interrupted half-way, the display would leave the terminal without a
    cursor."""
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
        """total: all runs; done: those made before."""
        self._live: Progress | None = None
        self._line: str | None = None
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

    def next(self, about: str, line: str, left: float | None) -> None:
        """A run is about to start.

        about: what it is; line: what is printed where there is no terminal, if it differs from the
        last line; left: seconds until the end, if known.
        """
        remains = f"about {duration(left)} left" if left is not None else ""
        if self._live:
            self._live.update(self._task, description=about, left=remains)
        elif self._line != line:
            self._line = line
            print_line(", ".join(part for part in (line, remains) if part))

    def grow(self, total: int) -> None:
        """There are more runs to make than was known before."""
        if self._live:
            self._live.update(self._task, total=total)

    def done(self) -> None:
        """A run has ended or was skipped."""
        if self._live:
            self._live.advance(self._task)
