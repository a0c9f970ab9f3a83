"""How far the runs are: a live line on a terminal, a plain line now and then elsewhere."""

import signal
import statistics
import sys
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from lockwright.base.terminal import errors

Likes = Sequence[Hashable]
"""What a run is like, the closest first: runs that share the first take about as long; failing
these, those that share the second; and so on."""


def remaining_seconds(done: Iterable[tuple[Likes, float]], to_do: Iterable[Likes]) -> float | None:
    """Estimate from the runs made and their seconds: each run takes as long as its like did, or
    else as any did. None if none was made."""
    seconds: dict[Hashable, list[float]] = {}
    for likes, taken in done:
        for like in (*likes, None):
            seconds.setdefault(like, []).append(taken)
    if not seconds:
        return None
    means = {like: statistics.fmean(values) for like, values in seconds.items()}
    return sum(next(means[like] for like in (*likes, None) if like in means) for likes in to_do)


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
        """total: all runs; done: those made already."""
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

        about: what it is; line: what is said where no one looks at a terminal, if that is another
        line than the last one; left: seconds until the end, if that is known.
        """
        remains = f"about {duration(left)} left" if left is not None else ""
        if self._live:
            self._live.update(self._task, description=about, left=remains)
        elif self._line != line:
            self._line = line
            say(", ".join(part for part in (line, remains) if part))

    def grow(self, total: int) -> None:
        """There are more runs to make than was known."""
        if self._live:
            self._live.update(self._task, total=total)

    def done(self) -> None:
        """A run has ended or was left out."""
        if self._live:
            self._live.advance(self._task)
