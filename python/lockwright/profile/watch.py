"""Samples a running program from outside at regular times."""

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.working_set import Touches

_EVERY = 0.04
"""Seconds between two samples, each of which takes some tenths of a millisecond."""

_TASKS = 64
"""Threads whose state a sample reads, at some ten microseconds each; of more threads, every
n-th."""

_POLICY = 38
"""Where a thread's `stat` has its scheduling policy, counted from the word behind the name."""

_REALTIME_POLICIES = (os.SCHED_FIFO, os.SCHED_RR)


@dataclass
class Seen:
    """Sums over the samples.

    waiters: by the number of the record; waited: samples with any waiter; most: waiters in one
    sample. runnable: threads that ran or were ready to, wanting: the same with those that waited
    for a mutex; realtime: threads with a real-time policy, the most in one sample; touched: see
    Process. processors: how often the threads could use so many. own: what the process has used, at
    the last sample, of_others: the same of its reaped children; empty without a sample.
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
    wanting: float = 0
    realtime: int = 0
    touched: float | None = None
    processors: Counter[int] = field(default_factory=Counter)
    own: dict[str, float] = field(default_factory=dict)
    of_others: dict[str, float] = field(default_factory=dict)
    last_ns: int = 0


class Watcher:
    """Samples the buffers of a run and the processes that fill them, until it is stopped."""

    def __init__(self, buffers: Buffers, also: Callable[[Buffer], None] | None = None) -> None:
        """also: called at each sample, in the watcher's thread, with the buffer of the process that
        spent most time on mutexes."""
        self._buffers = buffers
        self._also = also
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._looks: dict[int, _Looks] = {}

    def start(self) -> None:
        """Start the thread; the caller has blocked the signals that it must not take."""
        self._thread.start()

    def stop(self) -> tuple[Buffer, Seen]:
        """Stop the thread; returns the buffer of the process that spent most time on mutexes, and
        the samples of it."""
        self._over.set()
        self._thread.join()
        chosen = self._buffers.chosen()
        looks = self._looks.get(id(chosen))
        return chosen, looks.stop() if looks is not None else _nothing(chosen)

    def _watch(self) -> None:
        while not self._over.wait(_EVERY):
            for buffer in self._buffers.all():
                if buffer.pid:
                    if id(buffer) not in self._looks:
                        self._looks[id(buffer)] = _Looks(buffer)
                    self._looks[id(buffer)].look()
            if self._also is not None:
                self._also(self._buffers.chosen())
        for looks in self._looks.values():
            looks.stop()


def _nothing(buffer: Buffer) -> Seen:
    waiters, waited, most = (np.zeros(len(buffer.records), np.int64) for _ in range(3))
    return Seen(waiters=waiters, waited=waited, most=most)


class _Looks:
    """The samples of one process."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer, self._seen = buffer, _nothing(buffer)
        self._touches: Touches | None = Touches(buffer.pid)

    def stop(self) -> Seen:
        if self._touches is not None:
            self._seen.touched = self._touches.stop()
            self._touches = None
        return self._seen

    def look(self) -> None:
        seen, buffer = self._seen, self._buffer
        process = Path(f"/proc/{buffer.pid}")
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
        threads = buffer.threads
        numbers = threads["waiting_for"].copy()
        wait = (numbers != 0) & (numbers <= len(seen.waiters))
        records, counts = np.unique(numbers[wait].astype(np.int64) - 1, return_counts=True)
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
        tasks = _tasks(process, {int(tid) for tid in threads["tid"][wait]})
        seen.runnable += tasks.running
        seen.wanting += tasks.wanting
        seen.realtime = max(seen.realtime, tasks.realtime)
        seen.processors[len(tasks.processors)] += 1
        with contextlib.suppress(OSError, IndexError):
            seen.own, seen.of_others = resource_use(process)


def resource_use(process: Path) -> tuple[dict[str, float], dict[str, float]]:
    """What a process has used so far, and its reaped children, by the names of Process. Raises
    OSError where it is not known."""
    words = (process / "stat").read_text().rpartition(")")[2].split()
    tick = 1e9 / os.sysconf("SC_CLK_TCK")
    at = {"minor_faults": 7, "major_faults": 9}
    own: dict[str, float] = {name: int(words[place]) for name, place in at.items()}
    others: dict[str, float] = {name: int(words[place + 1]) for name, place in at.items()}
    for place, name in ((11, "cpu_user"), (12, "cpu_system")):
        own[name], others[name] = int(words[place]) * tick, int(words[place + 2]) * tick
    return own, others


@dataclass(frozen=True)
class _Tasks:
    """Counts the threads of a process at one moment: those that run or are ready to; the same with
    those that wait for a mutex; those with a real-time policy; and the processors that any may
    use."""

    running: float
    wanting: float
    realtime: int
    processors: set[int]


def _tasks(process: Path, waiting: set[int]) -> _Tasks:
    """waiting: the threads that wait for a mutex."""
    tasks = []
    with contextlib.suppress(OSError):
        tasks = list((process / "task").iterdir())
    step = -(-len(tasks) // _TASKS) or 1
    running = wanting = realtime = 0
    processors: set[int] = set()
    for task in tasks[::step]:
        with contextlib.suppress(OSError):
            # Behind the name, which may have anything in it.
            words = (task / "stat").read_text().rpartition(")")[2].split()
            runs = words[0] == "R"
            realtime += int(words[_POLICY]) in _REALTIME_POLICIES
            running += runs
            wanting += runs or int(task.name) in waiting
            processors |= os.sched_getaffinity(int(task.name))
    return _Tasks(float(running * step), float(wanting * step), realtime * step, processors)


def _field(text: str, name: str) -> str | None:
    """Return the number in a line of a file of /proc."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].split()[0]
    return None
