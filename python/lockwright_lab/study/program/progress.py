"""A watch over the counters of a counting library, which show whether a program takes locks."""

import threading
import time
from pathlib import Path

from lockwright.preload import counters

_SHORTEST, _LONGEST = 0.02, 1.0
"""Seconds between two readings of the counters."""


class Progress:
    """A thread that reads a counters file inside a `with` block."""

    def __init__(self, path: Path, limit: float) -> None:
        """Prepare the thread. limit: seconds that the program may take; the last quarter counts."""
        self._path = path
        self._window = limit / 4
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._taken = 0
        self._changed = time.monotonic()

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def is_recent(self) -> bool:
        """Return whether a lock was taken within the last quarter of the limit."""
        self._look()
        return self._taken > 0 and time.monotonic() - self._changed <= self._window

    def _watch(self) -> None:
        interval = min(max(self._window / 8, _SHORTEST), _LONGEST)
        while not self._ended.wait(interval):
            self._look()

    def _look(self) -> None:
        taken = counters.read(self._path).taken
        if taken != self._taken:
            self._taken, self._changed = taken, time.monotonic()
