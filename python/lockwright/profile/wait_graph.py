"""Who waits for what, and for whom, at one moment of a running program.

The slots of the buffer have what each thread waits for. The words of a mutex and of a
reader-writer lock have the number of their holder, and the system call of a thread that joins
another one has the number of that. These are read from the process, which needs the right to trace
it. A wait for any other object is taken to be ended by the thread that did so last.
"""

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lockwright.base.process_numbers import ThreadNumbers
from lockwright.profile.buffer import Buffer, constant
from lockwright.profile.chain import EndState
from lockwright.profile.outside.memory import Memory
from lockwright.profile.thread_states import SystemCall, TaskFiles, ThreadKind

_LONGEST = 12
"""Limit on the objects of a chain."""

_MUTEX = struct.Struct("=8xI20xQ")
"""Its holder and the caller that locked it, as in src/probe/mutex_words.hpp."""

_RWLOCK = struct.Struct("=I20xi12xQ")
"""Its state, the writer inside and its caller, as in src/probe/rwlock_words.hpp."""

_ONE_READER = 8
_ADDRESS = (1 << 63) - 1


@dataclass(frozen=True)
class SampledChain:
    """A chain of waits. path: the numbers of its objects, as in a stack of the buffer, that of the
    first thread in front; thread, state, call: the last thread, and the system call in which it
    sleeps; site: the caller by which that holds the last object, or last ended waits for it; 0 if
    unknown."""

    path: tuple[int, ...]
    state: EndState
    thread: ThreadKind | None = None
    site: int = 0
    call: str = ""


class Kinds:
    """The numbers of kinds and the flags of records, which take long to look up. threads: those
    found before, by their numbers."""

    def __init__(self) -> None:
        self.threads: dict[int, ThreadKind] = {}
        self.condition = constant("wait_object::condition")
        self.join = constant("wait_object::join")
        self.all = constant("wait_object::kinds")
        self.of_rwlock = constant("record::of_readers") | constant("record::of_writers")
        self.unknown = constant("record::is_void") | constant("record::is_shared")


class WaitGraph:
    """The waits of one moment. What is read of the process is read once, when it is needed."""

    def __init__(
        self,
        buffer: Buffer,
        files: TaskFiles,
        threads: ThreadNumbers,
        memory: Memory,
        kinds: Kinds,
    ) -> None:
        """Read the slots."""
        self._kinds, self._objects, self._records = kinds, buffer["objects"], buffer.records
        self._buffer, self._files, self._memory = buffer, files, memory
        self._numbers = threads
        rows = buffer.threads
        self._rows = rows
        # A field of one row takes longer to read than those of a hundred rows as a list.
        self._waiting_for: list[int] = rows["waiting_for"].tolist()
        self._object: list[int] = rows["object"].tolist()
        self._tids: list[int] = rows["tid"].tolist()
        ended = rows["has_ended"].tolist()
        self._slots = {tid: slot for slot, tid in enumerate(self._tids) if not ended[slot]}
        self.waiting = [
            slot for slot in self._slots.values() if self._waiting_for[slot] or self._object[slot]
        ]
        self._states: dict[int, tuple[str, str]] = {}
        self._calls: dict[int, SystemCall | None] = {}
        self._known: dict[int, tuple[int, ...] | None] = {}
        self._found: dict[int, tuple[SampledChain, int]] = {}
        self._seen: set[int] = set()
        self._deepest: tuple[int, ...] = ()

    def chain(self, slot: int) -> tuple[SampledChain, int] | None:
        """Return the chain of a thread, by its slot, with the number of the last thread inside the
        process, 0 if that is unknown; None if the thread no longer waits."""
        self._seen, self._deepest = set(), ()
        found = self._follow(self._tids[slot], (), 0)
        if found is not None:
            return found if found[0].path else None
        return (SampledChain(self._deepest, "unknown"), 0) if self._deepest else None

    def _follow(
        self, tid: int, path: tuple[int, ...], site: int
    ) -> tuple[SampledChain, int] | None:
        """Return the rest of a chain from a thread on; None if it ends nowhere, as in a circle."""
        slot = self._slots.get(tid)
        number = self._awaited(slot, tid) if slot is not None else None
        if slot is None or number is None:
            return self._end(tid, path, site)
        if number in self._seen or len(path) == _LONGEST:
            return None
        self._seen.add(number)
        before, path = path, (*path, number)
        self._deepest = max(path, self._deepest, key=len)
        if self._is_over(number, slot, tid):
            return SampledChain(path, "handover", self._thread(tid)), tid
        if (known := self._found.get(number)) is not None:
            return replace(known[0], path=before + known[0].path), known[1]
        for other, caller in self._enders(number, tid):
            if other != tid and (found := self._follow(other, path, caller)) is not None:
                if not self._is_join(number):  # whose threads wait for different ones
                    rest = replace(found[0], path=found[0].path[len(before) :])
                    self._found[number] = rest, found[1]
                return found
        return None

    def _end(self, tid: int, path: tuple[int, ...], site: int) -> tuple[SampledChain, int] | None:
        state = self._state(tid)
        if state in "XZ":
            return None
        if state == "R":
            return SampledChain(path, "running", self._thread(tid), site), tid
        call = self._call(tid)
        name = call.name if call is not None else ""
        return SampledChain(path, "sleeping", self._thread(tid), site, name), tid

    def _awaited(self, slot: int, tid: int) -> int | None:
        """Return the number of the object that a thread waits for; None if it waits for none."""
        if 0 < (record := self._waiting_for[slot]) <= len(self._records):
            return record - 1
        if not 0 < (number := self._object[slot]) <= len(self._objects):
            return None
        is_condition = self._kind(number - 1) == self._kinds.condition
        if is_condition and self._is_called(number - 1, slot) and (call := self._call(tid)):
            # The C library waits for the mutex inside the wait for the condition variable.
            at = np.flatnonzero(self._records["address"] == call.arguments[0])
            if call.name == "futex" and call.arguments[0] and len(at):
                return int(at[0])
        return len(self._records) + number - 1

    def _is_called(self, number: int, slot: int) -> bool:
        """Return whether a call that may end the wait for an object followed its beginning."""
        since = int(self._rows["object_since"][slot])
        return int(self._objects["last_wake"][number]) > since

    def _is_over(self, number: int, slot: int, tid: int) -> bool:
        """Return whether nothing but a processor is missing to the thread that waits."""
        if (index := number - len(self._records)) >= 0:
            return (self._is_join(number) or self._is_called(index, slot)) and self._state(
                tid
            ) == "R"
        record = self._records[number]
        words = self._words(number)
        if words is None:
            return False
        return not words[0] if self._is_mutex(record) else words[0] < _ONE_READER and not words[1]

    def _enders(self, number: int, tid: int) -> Iterator[tuple[int, int]]:
        """Yield the numbers of threads that may end a thread's wait, the most likely one first, and
        their callers as in SampledChain."""
        if number < len(self._records):
            yield from self._holders(number)
            return
        index = number - len(self._records)
        if self._is_join(number):
            # The kernel wakes the thread when the word, which has the other one's number, changes.
            call = self._call(tid)
            if call is not None and call.name == "futex":
                yield call.arguments[2], 0
            return
        row = self._objects[index]
        last = int(row["last_thread"])
        slots = dict.fromkeys([last, *row["waking"].tolist()])
        for slot in slots:
            if 0 < slot <= len(self._rows) and self._slots.get(self._tids[slot - 1]) == slot - 1:
                caller = int(row["last_waker"]) if slot == last else 0
                yield self._tids[slot - 1], caller

    def _holders(self, number: int) -> Iterator[tuple[int, int]]:
        record, words = self._records[number], self._words(number)
        if words is None:
            return
        if self._is_mutex(record):
            owner, caller = words
            yield owner, caller & _ADDRESS
            return
        _, writer, caller = words
        if writer > 0:
            yield writer, caller & _ADDRESS
            return
        locks = self._rows["sections"]["lock"] == record["address"]
        for slot in np.flatnonzero(locks.any(axis=1) & (self._rows["has_ended"] == 0)):
            yield self._tids[slot], 0

    def _words(self, number: int) -> tuple[int, ...] | None:
        if number not in self._known:
            record = self._records[number]
            form = _MUTEX if self._is_mutex(record) else _RWLOCK
            address = int(record["address"])
            is_known = address and not int(record["kind"]) & self._kinds.unknown
            self._known[number] = self._memory.words(form, address) if is_known else None
        return self._known[number]

    def _state(self, tid: int) -> str:
        return self._name_and_state(tid)[1]

    def _name_and_state(self, tid: int) -> tuple[str, str]:
        if tid not in self._states:
            self._states[tid] = "", "X"
            with contextlib.suppress(OSError):
                name, words = self._files.stat(self._numbers.here(tid))
                self._states[tid] = name, words[0]
        return self._states[tid]

    def _call(self, tid: int) -> SystemCall | None:
        if tid not in self._calls:
            self._calls[tid] = None
            with contextlib.suppress(OSError):
                self._calls[tid] = self._files.call(self._numbers.here(tid))
        return self._calls[tid]

    def _thread(self, tid: int) -> ThreadKind:
        name, _ = self._name_and_state(tid)
        if (known := self._kinds.threads.get(tid)) is None or known.name != name:
            known = ThreadKind(name, self._buffer.routine_of(tid), tid == self._buffer.process.pid)
            if known.routine or known.is_main:
                self._kinds.threads[tid] = known
        return known

    def _is_mutex(self, record: np.void) -> bool:
        return not int(record["kind"]) & self._kinds.of_rwlock

    def _is_join(self, number: int) -> bool:
        index = number - len(self._records)
        return index >= 0 and self._kind(index) == self._kinds.join

    def _kind(self, index: int) -> int:
        """Return the number of the kind of an object, as kind_of_object() of the buffer."""
        kind = int(self._objects["key"][index]) >> 56
        return kind or index - (len(self._objects) - self._kinds.all) + 1
