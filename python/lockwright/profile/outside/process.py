"""The samples of one process's threads that sleep in futex calls of which nothing else is known."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from lockwright.base import clock
from lockwright.base.process_numbers import ThreadNumbers
from lockwright.profile.buffer import Buffer
from lockwright.profile.outside.memory import MappedMemory
from lockwright.profile.outside.words import lock_of_c_library, owner_of
from lockwright.profile.thread_states import Activity, FutexSleep, Scheduled, TaskFiles, ThreadKind

_MOST = 4096
"""Limit on the words that are told apart."""

SEARCH_NS: Final = 100_000_000
"""Between searches for new processes."""

OWN_LIBRARY: Final = "liblockwright"


@dataclass(eq=False)
class Thread:
    """A thread at its last sample. begin_ns, seen_ns: of the monotonic clock; before, last: the
    kernel's sums then. sleep: the word in which it sleeps, with the number of its time slices;
    stack: then."""

    kind: ThreadKind
    begin_ns: int
    before: Scheduled
    seen_ns: int
    last: Scheduled
    sleep: tuple[int, int] | None = None
    stack: tuple[int, ...] = ()


@dataclass
class SiteSamples:
    """Sleeps from one stack: their number, as far as samples tell them apart, and ns."""

    sleeps: int = 0
    waited: int = 0


@dataclass
class WordSamples:
    """The sleeps for a word. lock: as from lock_of_c_library(); is_own: of a lock of Lockwright;
    sites: by the addresses of the stack; by_thread: ns; holders: samples by the owner and what it
    did."""

    first: FutexSleep
    lock: str
    is_own: bool
    samples: int = 0
    sites: defaultdict[tuple[int, ...], SiteSamples] = field(
        default_factory=lambda: defaultdict(SiteSamples)
    )
    by_thread: defaultdict[Thread, int] = field(default_factory=lambda: defaultdict(int))
    holders: Counter[tuple[int, str]] = field(default_factory=Counter)


class SampledProcess:
    """A process. words: by address, 0 for all beyond the limit; threads: those seen, by number;
    ended: those of a number that another one got; names: of holders. count: of samples. present:
    its threads, by its own numbers of them. buffer: what its own library records, if it has that:
    only waits that this does not know are sampled, and `threads` are those that slept."""

    def __init__(self, pid: int, *, is_running: bool = False) -> None:
        """Open it. is_running: its threads at the first sample count from then on, not from their
        beginning. Raises OSError if it is missing or permission is denied."""
        self.pid = pid
        self._is_running = is_running
        self.buffer: Buffer | None = None
        self._open()

    def _open(self) -> None:
        self._process = Path(f"/proc/{self.pid}")
        self._image = self._present_image()
        self.program = str((self._process / "exe").readlink())
        self._files = TaskFiles(self._process)
        self.name = self._files.stat(self.pid)[0]
        self.memory = MappedMemory(self._process)
        self.words: dict[int, WordSamples] = {}
        self._is_own: dict[int, bool] = {}
        self.threads: dict[int, Thread] = {}
        self.ended: list[Thread] = []
        self.names: dict[int, str] = {}
        self.count = 0
        self.present: dict[int, int] = {}
        self.threads_most = 0
        self._last_ns = 0
        if not self._is_running:
            # The first sample stands for the time since the last search.
            age = min(self._files.age_ns(self.pid), SEARCH_NS)
            self._last_ns = clock.monotonic_ns() - age
        self._numbers = ThreadNumbers(self._process)
        self._activity = Activity(self._files)

    def close(self) -> None:
        """Close its files; the samples stay."""
        self.memory.close()
        self._files.close()

    def _present_image(self) -> tuple[int, int]:
        status = (self._process / "exe").stat()
        return status.st_dev, status.st_ino

    def look(self) -> None:
        """Begin anew if the process has become another program. Raises OSError if it has ended, or
        may no longer be examined."""
        if self._present_image() != self._image:
            self.close()
            self._open()

    def sample(self, others: Mapping[int, int] = MappingProxyType({})) -> bool:
        """Look at all threads; return whether any slept in a call of which nothing else is known.
        others: threads that may have what these wait for, by their own numbers of them."""
        now = clock.monotonic_ns()
        interval = now - self._last_ns if self._last_ns else 0
        self._last_ns = now
        tids = self._files.numbers()
        self.present = {self._numbers.inside(tid): tid for tid in tids}
        self.count += 1
        self.threads_most = max(self.threads_most, len(tids))
        known = self._known_to_wait()
        asleep = {}
        for tid in tids:
            if self.buffer is not None and self._numbers.inside(tid) in known:
                continue
            with contextlib.suppress(OSError):
                call = self._files.call(tid)
                if call is not None and (sleep := call.futex) is not None:
                    asleep[tid] = sleep
        if self.count & (self.count - 1) == 0 and self.words:
            self.memory.refresh()
        if asleep:
            # A wait may have begun between the two looks.
            known |= self._known_to_wait()
            asleep = {t: s for t, s in asleep.items() if self._numbers.inside(t) not in known}
        owners = {**others, **self.present} if asleep else {}
        for tid in tids if self.buffer is None else asleep:
            try:
                self._note(tid, asleep.get(tid), now, interval, owners)
            except (OSError, ValueError, TypeError):
                continue
        return bool(asleep)

    def _known_to_wait(self) -> set[int]:
        """Return the threads whose waits the process's own library accounts for, by their own
        numbers."""
        if self.buffer is None:
            return set()
        slots = self.buffer.threads
        waits = (slots["has_ended"] == 0) & ((slots["waiting_for"] != 0) | (slots["object"] != 0))
        return set(slots["tid"][np.asarray(waits)].tolist())

    def _note(
        self,
        tid: int,
        sleep: FutexSleep | None,
        now: int,
        interval: int,
        owners: dict[int, int],
    ) -> None:
        sums = self._files.scheduled(tid)
        thread = self._thread(tid, now, sums)
        thread.seen_ns, thread.last = now, sums
        if sleep is not None and not thread.kind.routine and (routine := self._routine(tid)):
            thread.kind = replace(thread.kind, routine=routine)
        if sleep is None:
            thread.sleep = None
            return
        word = self._word(sleep)
        address = word.first.address
        is_new = thread.sleep != (address, sums.slices)
        if is_new:
            thread.sleep = address, sums.slices
            thread.stack = (sleep.pc, *self.memory.callers(sleep.stack))
        word.samples += 1
        word.by_thread[thread] += interval
        site = word.sites[thread.stack]
        site.sleeps += is_new
        site.waited += interval
        if owner := owner_of(sleep, address if word.is_own else 0, self.memory, owners):
            if owner not in self.names:
                self.names[owner] = self._files.stat(owner)[0]
            word.holders[owner, self._activity.of(owner)] += 1

    def _word(self, sleep: FutexSleep) -> WordSamples:
        if (is_own := self._is_own.get(sleep.pc)) is None:
            self.memory.refresh()
            code = self.memory.code(sleep.pc)
            is_own = code is not None and Path(code.path).name.startswith(OWN_LIBRARY)
            self._is_own[sleep.pc] = is_own
        address = sleep.ignored if is_own and sleep.ignored else sleep.address
        if address not in self.words:
            if len(self.words) >= _MOST:
                address = 0
            lock = "" if is_own else lock_of_c_library(address, self.memory, self._process)
            first = FutexSleep(address, sleep.operation, sleep.value, 0, sleep.stack, sleep.pc)
            self.words.setdefault(address, WordSamples(first, lock, is_own))
        return self.words[address]

    def _thread(self, tid: int, now: int, sums: Scheduled) -> Thread:
        known = self.threads.get(tid)
        if known is not None and sums.ran >= known.last.ran:
            return known
        if known is not None:
            self.ended.append(known)
        kind = ThreadKind(self._files.stat(tid)[0], self._routine(tid), tid == self.pid)
        if self._is_running and self.count == 1:
            found = Thread(kind, now, sums, now, sums)
        else:
            found = Thread(kind, now - self._files.age_ns(tid), Scheduled(0, 0, 0), now, sums)
        self.threads[tid] = found
        return found

    def _routine(self, tid: int) -> int:
        return self.buffer.routine_of(self._numbers.inside(tid)) if self.buffer is not None else 0
