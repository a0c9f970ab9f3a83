"""The mutexes of a program, and what else its threads wait for, on the terminal, while it runs."""

import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from rich.console import Group
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.base.terminal import secondary
from lockwright.profile.attached_live import AttachedLive
from lockwright.profile.buffer import Buffer
from lockwright.profile.live import Live, Row, State
from lockwright.profile.live_objects import ObjectRow
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.time_lost import OF_WHICH_TIME

_COLUMNS = ("mutex", "lost", "waiting", "contended", "taken", "held at")

_ATTACHED_COLUMNS = ("mutex", "lost", "waiting", "held by", "waited for at")
"""The columns for an attached process."""

_OBJECT_COLUMNS = ("other object", "kind", "waited", "waiting", "waits", "ended at")

_TEXTS = ("mutex", "held at", "held by", "waited for at", "other object", "kind", "ended at")
"""The columns that are not figures."""

_OTHER_LINES = 9
"""Number of lines of the screen without a mutex or object."""

_NAMED = 3
"""Number of mutexes and other objects in a line of a file."""


@dataclass(frozen=True)
class Streams:
    """The original standard output, and the terminal that was standard input, if it was one."""

    out: IO[str]
    terminal: int | None


@contextmanager
def redirected_output(path: Path) -> Iterator[Streams]:
    """Redirect standard output and standard error to a file, and replace a terminal as standard
    input by /dev/null. Raises LockwrightError if the file cannot be created."""
    try:
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "name another file with --output"
        ) from error
    _flush()
    saved = [os.dup(number) for number in range(3)]
    try:
        if os.isatty(0):
            null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(null, 0)
            os.close(null)
        os.dup2(log, 1)
        os.dup2(log, 2)
        with os.fdopen(os.dup(saved[1]), "w", errors="replace") as out:
            yield Streams(out, saved[0] if os.isatty(saved[0]) else None)
    finally:
        _flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(log)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()


@contextmanager
def _unbuffered(terminal: int) -> Iterator[None]:
    """Deliver each key when it is pressed, without echo."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _in_foreground(terminal: int) -> bool:
    """Return whether this process is in the terminal's foreground group; a read from the background
    would stop it."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True


class Top:
    """A display of the mutexes, renewed at an interval; the caller calls `show_buffer` or
    `show_attached` more often."""

    def __init__(self, streams: Streams, program: str, title: str, interval: float) -> None:
        """Prepare the display. streams.out: a terminal, which shows the last interval, or a file,
        which gets a line for each. program: its path; interval: in seconds."""
        self.stopped = False
        self._program, self._title, self._interval = program, title, interval
        self._columns: tuple[str, ...] = _COLUMNS
        self._hint = "q ends the program"
        self._terminal = streams.terminal
        self._console = secondary(streams.out)
        self._screen = Screen(console=self._console, auto_refresh=False, transient=True)
        self._live: Live | None = None
        self._next = 0.0
        self._keys: int | None = None

    @contextmanager
    def displayed(self) -> Iterator[None]:
        """Take over the terminal, and restore it at the end."""
        if not self._console.is_terminal:
            yield
            return
        with self._screen:
            if self._terminal is None or not _in_foreground(self._terminal):
                yield
                return
            with _unbuffered(self._terminal):
                self._keys = self._terminal
                yield

    def show_buffer(self, buffer: Buffer, sampled: Sequence[SampledProcess]) -> None:
        """Print the state if it is due, and end the program if the user pressed `q`."""
        if self._key() == b"q" and buffer.pid:
            self.stopped = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(buffer.pid, signal.SIGTERM)
        if not buffer.is_claimed:
            return
        if self._live is None or self._live.buffer is not buffer:
            self._live = Live(buffer, self._program)
            self._next = 0.0
        self._show(partial(self._live.state, sampled=sampled))

    def show_attached(self, live: AttachedLive) -> None:
        """Print the state of an attached process, which `q` does not end."""
        self._columns, self._hint = _ATTACHED_COLUMNS, "q ends this, not the program"
        self._show(live.state)
        self.stopped = self._key() == b"q" or self._console.quiet

    def _show(self, state_of: Callable[[int], State]) -> None:
        """Print the state if it is due. state_of: returns it with at most so many rows."""
        now = time.monotonic()
        self._next = self._next or now + self._interval
        if now < self._next:
            return
        self._next = now + self._interval
        rows = max(3, self._console.height - _OTHER_LINES)
        state = state_of(rows if self._console.is_terminal else _NAMED)
        # The program continues if the reader of the output has left.
        with contextlib.suppress(OSError):
            if self._console.is_terminal:
                self._screen.update(self._drawn(state), refresh=True)
            else:
                self._console.print(interval_line(state), soft_wrap=True)

    def _key(self) -> bytes:
        if self._keys is None or not select.select([self._keys], [], [], 0)[0]:
            return b""
        return os.read(self._keys, 1)

    def _drawn(self, state: State) -> Group:
        tables: list[Table | Text] = [_table(self._columns, map(mutex_cells, state.rows)), Text("")]
        if state.objects:
            tables += [_table(_OBJECT_COLUMNS, map(object_cells, state.objects)), Text("")]
        return Group(
            Text(self._title, style="bold", no_wrap=True, overflow="ellipsis"),
            Text(program_line(state)),
            Text(""),
            *tables,
            Text(self._hint if self._keys is not None else "", style="dim"),
        )


def _table(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in columns:
        is_text = name in _TEXTS
        table.add_column(
            name,
            justify="left" if is_text else "right",
            no_wrap=True,
            overflow="ellipsis",
            ratio=1 if is_text else None,
        )
    for row in rows:
        table.add_row(*row)
    return table


def program_line(state: State) -> str:
    """Return the state of the program in one line."""
    text = (
        f"{numbers.time(state.elapsed)}: {state.waiting} of {state.threads} threads wait;"
        f" {numbers.time(state.lost)} lost a second"
    )
    if not state.lost or state.lost_share is None:
        return text
    return f"{text} ({numbers.share(state.lost_share)} {OF_WHICH_TIME})"


def mutex_cells(row: Row) -> tuple[str, ...]:
    """Return a mutex as the cells of a row."""
    details = [row.held_by]
    if row.contended is not None and row.rate is not None:
        details = [numbers.share(row.contended), f"{numbers.count(round(row.rate))}/s"]
    return (row.name, f"{numbers.time(row.lost)}/s", str(row.waiting), *details, row.holder)


def object_cells(row: ObjectRow) -> tuple[str, ...]:
    """Return another object as the cells of a row."""
    about = row.about
    return (
        about.name,
        about.kind_label,
        f"{numbers.time(row.waited)}/s",
        str(row.waiting),
        f"{numbers.count(round(row.rate))}/s",
        about.waker or next((f"held by {each.label}" for each in about.holders), ""),
    )


def interval_line(state: State) -> str:
    """Return the last interval in one line."""
    mutexes = [_mutex_line(row) for row in state.rows if row.lost or row.waiting]
    objects = [
        f"{row.about.name} {numbers.time(row.waited)}/s"
        f" ({row.about.kind_label}, {row.waiting} waiting)"
        for row in state.objects
    ]
    return "; ".join([program_line(state), *mutexes, *objects])


def _mutex_line(row: Row) -> str:
    details = [f"{row.waiting} waiting"]
    if row.contended is not None:
        details.append(f"{numbers.share(row.contended)} contended")
    if row.held_by:
        details.append(f"held by {row.held_by}")
    if row.holder:
        details.append(f"{'waited for' if row.contended is None else 'held'} at {row.holder}")
    return f"{row.name} {numbers.time(row.lost)}/s ({', '.join(details)})"
