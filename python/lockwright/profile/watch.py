"""What can only be seen of a program from outside, at regular times while it runs."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.sheet import Sheet
from lockwright.profile.touches import Touches

_EVERY = 0.04
"""Seconds between two looks, each of which takes some tenths of a millisecond."""

_TASKS = 64
"""Threads whose state a look asks for, at some ten microseconds each; of more, every so many-th."""


@dataclass
class Seen:
    """What the looks have come to.

    waiters: by the number of the record, summed over the looks; waited: looks at which anyone
    waited for it; most: waiters at one look. runnable: threads that ran or were ready to, summed
    over the looks; touched: see Process.
    """

    looks: int = 0
    waiters: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    waited: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    most: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    threads: int = 0
    threads_most: int = 0
    alive_most: int = 0
    names: dict[int, str] = field(default_factory=dict)
    runnable: float = 0
    touched: float | None = None
    last_ns: int = 0


class Watcher:
    """Looks at a sheet, and at the process that fills it, until it is stopped."""

    def __init__(self, sheet: Sheet, also: Callable[[Sheet], None] | None = None) -> None:
        """also: called at each look, in the thread of the watcher."""
        self.seen = Seen()
        self._sheet = sheet
        self._also = also
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        count = len(sheet.records)
        self.seen.waiters, self.seen.waited, self.seen.most = (
            np.zeros(count, np.int64) for _ in range(3)
        )

    def start(self) -> None:
        """To be called with those signals blocked that this thread must not take."""
        self._thread.start()

    def stop(self) -> Seen:
        """Ends the looking; what was seen."""
        self._over.set()
        self._thread.join()
        return self.seen

    def _watch(self) -> None:
        touches: Touches | None = None
        while not self._over.wait(_EVERY):
            pid = self._sheet.pid
            if pid:
                touches = touches or Touches(pid)
                self._look(Path(f"/proc/{pid}"))
            if self._also is not None:
                self._also(self._sheet)
        if touches is not None:
            self.seen.touched = touches.stop()

    def _look(self, process: Path) -> None:
        seen, sheet = self.seen, self._sheet
        try:
            status = (process / "status").read_text()
        except OSError:
            return
        if "\nState:\tZ" in status:
            return
        seen.last_ns = time.monotonic_ns()
        seen.looks += 1
        running = int(_field(status, "Threads") or 1)
        seen.threads += running
        seen.threads_most = max(seen.threads_most, running)
        threads = sheet.threads
        waiting = threads["waiting_for"]
        waiting = waiting[(waiting != 0) & (waiting <= len(seen.waiters))].astype(np.int64) - 1
        records, counts = np.unique(waiting, return_counts=True)
        seen.waiters[records] += counts
        seen.waited[records] += 1
        seen.most[records] = np.maximum(seen.most[records], counts)
        alive = int(threads["created"].sum()) - int(threads["destroyed"].sum())
        seen.alive_most = max(seen.alive_most, alive)
        for number in range(len(seen.names), len(threads)):
            path = process / "task" / str(threads["tid"][number]) / "comm"
            seen.names[number] = ""
            with contextlib.suppress(OSError):
                seen.names[number] = path.read_text(errors="replace").rstrip("\n")
        seen.runnable += _runnable(process)


def _runnable(process: Path) -> float:
    """Threads that run or are ready to."""
    tasks = []
    with contextlib.suppress(OSError):
        tasks = list((process / "task").iterdir())
    step = -(-len(tasks) // _TASKS) or 1
    found = 0
    for task in tasks[::step]:
        with contextlib.suppress(OSError):
            # Behind the name, which may have anything in it.
            found += (task / "stat").read_text().rpartition(")")[2].startswith(" R")
    return float(found * step)


def _field(text: str, name: str) -> str | None:
    """The number in a line of a file of /proc."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].split()[0]
    return None
