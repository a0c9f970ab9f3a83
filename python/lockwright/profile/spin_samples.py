"""Samples of the running threads of a program: which of them spin, and where."""

import contextlib
import random
from collections import Counter

from lockwright.base.process_numbers import ThreadNumbers
from lockwright.profile.buffer import Buffer
from lockwright.profile.outside.registers import is_spinning, registers
from lockwright.profile.thread_states import TaskFiles, ThreadKind

_TRIES = 16
"""Limit on the threads of which a sample looks for a running one."""

Spins = Counter[tuple[ThreadKind, int]]
"""How often samples met a running thread, by the address of the instruction at which it span; 0 for
one that did not."""


class SpinSampler:
    """The samples of one process."""

    def __init__(self, buffer: Buffer, files: TaskFiles, threads: ThreadNumbers) -> None:
        self.sums: Spins = Counter()
        self._buffer, self._files, self._threads = buffer, files, threads
        self._is_allowed = True

    def sample(self) -> None:
        """Look at a running thread, drawn from all."""
        tids = self._files.numbers() if self._is_allowed else []
        for tid in random.sample(tids, min(len(tids), _TRIES)):
            with contextlib.suppress(OSError):
                name, words = self._files.stat(tid)
                if words[0] == "R":
                    self._look_at(tid, name)
                    return

    def _look_at(self, tid: int, name: str) -> None:
        try:
            seen = registers(tid)
        except ProcessLookupError:
            return
        except (OSError, ValueError):
            self._is_allowed = False
            return
        if seen:
            inside = self._threads.inside(tid)
            is_main = inside == self._buffer.process.pid
            thread = ThreadKind(name, self._buffer.routine_of(inside), is_main)
            self.sums[thread, seen[0].instruction if is_spinning(seen) else 0] += 1
