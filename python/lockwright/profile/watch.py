"""Samples of a running program, taken from outside at regular times."""

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockwright.base import clock
from lockwright.base.process_numbers import ThreadNumbers, stat_words
from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.chain_samples import ChainSampler, ChainSums
from lockwright.profile.damage import DamagedRecords
from lockwright.profile.outside.beside import BesideSampler
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.spin_samples import Spins, SpinSampler
from lockwright.profile.thread_states import FUTEX, TaskFiles
from lockwright.profile.wait_graph import SampledChain
from lockwright.profile.working_set import TouchSampler

_PERIOD = 0.04
"""Seconds between two samples, each of which takes some tenths of a millisecond."""

_CHAIN_PERIOD = 0.01
"""Mean of the seconds between two samples of what threads wait for, which are at random times."""

_CHAIN_COST = 50
"""The least mean, by the processor time of such a sample."""

_OUTSIDE_COST = 20
"""The same while threads wait for what their process's library does not record."""

_RECENT = 50
"""Samples for which this is remembered."""

_TASKS = 64
"""Limit on the threads whose state a sample reads, at some ten microseconds each; with more
threads, it reads every n-th."""

_SELDOM = 10
"""With more threads, one of so many samples looks at all for their account."""

_POLICY = 38
"""Index of the scheduling policy in a thread's `stat`, counted from its state."""

_CPU = slice(11, 13)
"""Indices of the user and the system time in the same words."""

_TICK = 1e9 / os.sysconf("SC_CLK_TCK")
"""Nanoseconds of their unit."""

_REALTIME_POLICIES = (os.SCHED_FIFO, os.SCHED_RR)


@dataclass
class TaskTimes:
    """Processor time of a thread, in ns, at its first and its last sample, with their times."""

    first_ns: int
    first_cpu: float
    last_ns: int
    last_cpu: float


@dataclass(frozen=True)
class AliveThread:
    """A thread at a sample. begin_ns, seen_ns: of the monotonic clock, its beginning and the
    sample; ran, ready: ns until then on a processor, and ready to run without one; is_noted:
    whether the program's library knows its beginning."""

    name: str
    begin_ns: int
    seen_ns: int
    ran: int
    ready: int
    is_noted: bool


@dataclass
class Samples:
    """Sums over the samples.

    count: of samples. waiters: by record; waited: samples with any waiter; most: waiters in one
    sample. runnable, wanting, touched: see Process; realtime: the most threads with a real-time
    policy in one sample. processors: number of samples by the number of processors that the threads
    could use. tasks: the times of each thread, by its kernel number; alive: those at the last
    sample that looked at all. own: resources used by the process at the last sample, of_others: by
    its reaped children; empty without a sample. chains: of waits, with the time of each;
    python: as in a ChainSampler; spins: as in a SpinSampler.
    """

    count: int = 0
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
    tasks: dict[int, TaskTimes] = field(default_factory=dict)
    alive: dict[int, AliveThread] = field(default_factory=dict)
    own: dict[str, float] = field(default_factory=dict)
    of_others: dict[str, float] = field(default_factory=dict)
    chains: dict[SampledChain, ChainSums] = field(default_factory=dict)
    python: dict[int, Counter[str]] = field(default_factory=dict)
    spins: Spins = field(default_factory=Counter)
    last_ns: int = 0


OnSample = Callable[[Buffer, Sequence[SampledProcess]], None]
"""A function that is called with the buffer of the process that spent most time on mutexes, and
the processes that are sampled from outside."""


class Watcher:
    """A thread that samples the buffers of a run and the processes that fill them."""

    def __init__(self, buffers: Buffers, on_sample: OnSample | None = None) -> None:
        """Prepare the thread. on_sample: called in it at each sample."""
        self._buffers = buffers
        self._on_sample = on_sample
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._samplers: dict[int, _ProcessSampler] = {}
        self._unrecorded = 0

    def start(self, pid: int = 0) -> None:
        """Start the thread; the caller has blocked the signals that it must not receive. pid: of
        the command's process; 0 if only processes with a buffer are sampled."""
        self._beside = BesideSampler(pid, self._buffers) if FUTEX is not None else None
        self._thread.start()

    def stop(self) -> tuple[Buffer, Samples]:
        """Stop the thread; return the buffer of the process that spent most time on mutexes, and
        its samples."""
        self._ended.set()
        self._thread.join()
        busiest = self._buffers.busiest()
        sampler = self._samplers.get(id(busiest))
        return busiest, sampler.stop() if sampler is not None else no_samples(busiest)

    def others(self, profiled: Buffer) -> tuple[tuple[Buffer, Samples], ...]:
        """Return the buffers of the other processes with their samples; after stop()."""
        return tuple(
            (buffer, self._samplers[id(buffer)].stop())
            for buffer in self._buffers.all()
            if buffer is not profiled and id(buffer) in self._samplers
        )

    def sampled(self) -> tuple[SampledProcess, ...]:
        """Return the processes as sampled from outside; after stop()."""
        return self._beside.stop() if self._beside is not None else ()

    def _watch(self) -> None:
        next_sample, next_chains = time.monotonic() + _PERIOD, time.monotonic() + _CHAIN_PERIOD / 4
        mean, period = _CHAIN_PERIOD / _CHAIN_COST, _CHAIN_PERIOD
        while not self._ended.wait(max(0.0, min(next_sample, next_chains) - time.monotonic())):
            if time.monotonic() >= next_chains:
                begin = time.thread_time()
                factor = self._sample_waits(period)
                cost = time.thread_time() - begin
                # The first sample of a process takes long.
                mean += (min(cost, 4 * mean) - mean) / 8
                period = max(_CHAIN_PERIOD, factor * mean)
                next_chains = time.monotonic() + period * random.uniform(0.5, 1.5)
            if time.monotonic() >= next_sample:
                self._sample()
                next_sample = time.monotonic() + _PERIOD
        for each in self._samplers.values():
            each.stop()

    def _sample_waits(self, period: float) -> int:
        """Sample what threads wait for; return by what of its cost the next sample may follow."""
        self._unrecorded -= 1
        if self._beside is not None and self._beside.sample():
            self._unrecorded = _RECENT
        for sampler in self._samplers.values():
            sampler.sample_chains(period)
        return _OUTSIDE_COST if self._unrecorded > 0 else _CHAIN_COST

    def _sample(self) -> None:
        for buffer in self._buffers.all():
            if buffer.is_claimed and buffer.pid:
                if id(buffer) not in self._samplers:
                    self._samplers[id(buffer)] = _ProcessSampler(buffer)
                self._samplers[id(buffer)].sample()
        if self._on_sample is not None:
            try:
                sampled = self._beside.processes if self._beside is not None else ()
                self._on_sample(self._buffers.busiest(), sampled)
            except DamagedRecords:
                # They are checked again when the program has ended.
                self._on_sample = None


def no_samples(buffer: Buffer) -> Samples:
    """Return the samples of a process that was not sampled."""
    waiters, waited, most = (np.zeros(len(buffer.records), np.int64) for _ in range(3))
    return Samples(waiters=waiters, waited=waited, most=most)


class _ProcessSampler:
    """The samples of one process."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer, self._samples = buffer, no_samples(buffer)
        self._process = Path(f"/proc/{buffer.pid}")
        self._threads = ThreadNumbers(self._process)
        self._touch_sampler: TouchSampler | None = TouchSampler(buffer.pid)
        self._files = TaskFiles(self._process)
        self._chains = ChainSampler(buffer, self._process, self._threads, self._files)
        self._samples.chains, self._samples.python = self._chains.sums, self._chains.python
        self._spins = SpinSampler(buffer, self._files, self._threads)
        self._samples.spins = self._spins.sums
        self._before: dict[int, AliveThread] = {}

    def stop(self) -> Samples:
        self._chains.close()
        self._files.close()
        if self._touch_sampler is not None:
            self._samples.touched = self._touch_sampler.stop()
            self._touch_sampler = None
        return self._samples

    def sample_chains(self, seconds: float) -> None:
        """Add a sample of the chains of waits, which stands for so many seconds, and one of a
        running thread."""
        self._chains.sample(seconds, self._running_share)
        self._spins.sample()

    def _running_share(self, tid: int) -> float:
        """Return the share of processor time in the time in which a thread was running or ready to
        in the last interval. It has run for less than a tick, which the kernel has not added, or
        still waits for a processor, if both are 0."""
        if (now := self._samples.alive.get(tid)) is None:
            return 1.0
        before = self._before.get(tid)
        ran = now.ran - (before.ran if before is not None else 0)
        ready = now.ready - (before.ready if before is not None else 0)
        return max(0.0, min(1.0, ran / (ran + ready))) if ran + ready > 0 else 0.0

    def sample(self) -> None:
        samples, buffer, process = self._samples, self._buffer, self._process
        try:
            status = (process / "status").read_text()
        except OSError:
            return
        if "\nState:\tZ" in status:
            return
        samples.last_ns = clock.monotonic_ns()
        samples.count += 1
        running = int(_field(status, "Threads") or 1)
        samples.threads += running
        samples.threads_most = max(samples.threads_most, running)
        threads = buffer.threads
        numbers = threads["waiting_for"].copy()
        wait = (numbers != 0) & (numbers <= len(samples.waiters))
        records, counts = np.unique(numbers[wait].astype(np.int64) - 1, return_counts=True)
        samples.waiters[records] += counts
        samples.waited[records] += 1
        samples.most[records] = np.maximum(samples.most[records], counts)
        alive = int(threads["created"].sum()) - int(threads["destroyed"].sum())
        samples.alive_most = max(samples.alive_most, alive)
        for number in range(len(samples.names), len(threads)):
            samples.names[number] = ""
            with contextlib.suppress(OSError):
                tid = self._threads.here(int(threads["tid"][number]))
                samples.names[number] = self._files.stat(tid)[0]
        tasks = _tasks(self._files, self._threads, {int(tid) for tid in threads["tid"][wait]})
        samples.runnable += tasks.running
        samples.wanting += tasks.wanting
        samples.realtime = max(samples.realtime, tasks.realtime)
        samples.processors[len(tasks.processors)] += 1
        for tid, cpu in tasks.cpu.items():
            times = samples.tasks.setdefault(
                tid, TaskTimes(samples.last_ns, cpu, samples.last_ns, cpu)
            )
            times.last_ns, times.last_cpu = samples.last_ns, cpu
        is_due = running <= _TASKS or samples.count % _SELDOM == 1
        if is_due and (present := self._alive()):
            self._before, samples.alive = samples.alive, present
        with contextlib.suppress(OSError, IndexError):
            samples.own, samples.of_others = resource_use(process)

    def _alive(self) -> dict[int, AliveThread]:
        """Return all present threads by their numbers inside the process."""
        before, now, files = self._samples.alive, clock.monotonic_ns(), self._files
        lives = self._buffer["lives"]
        lives = lives[(lives["tid"] != 0) & (lives["has_ended"] == 0)]
        is_usual = self._samples.count % _SELDOM != 1
        begins = dict(zip(lives["tid"].tolist(), lives["begin_ns"].tolist(), strict=True))
        alive = {}
        for number in files.numbers():
            with contextlib.suppress(OSError, ValueError, TypeError):
                tid = self._threads.inside(number)
                ran, ready, _ = files.scheduled(number)
                begin = begins.get(tid) or (before[tid].begin_ns if tid in before else 0)
                alive[tid] = AliveThread(
                    name=before[tid].name if is_usual and tid in before else files.stat(number)[0],
                    begin_ns=begin or max(now - files.age_ns(number), 0),
                    seen_ns=now,
                    ran=ran,
                    ready=ready,
                    is_noted=tid in begins,
                )
        return alive


def resource_use(process: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return the resources used by a process and by its reaped children so far, by the names of
    Process. Raises OSError if unknown."""
    words = stat_words(process)
    tick = 1e9 / os.sysconf("SC_CLK_TCK")
    positions = {"minor_faults": 7, "major_faults": 9}
    own: dict[str, float] = {name: int(words[position]) for name, position in positions.items()}
    others: dict[str, float] = {
        name: int(words[position + 1]) for name, position in positions.items()
    }
    for position, name in ((11, "cpu_user"), (12, "cpu_system")):
        own[name], others[name] = int(words[position]) * tick, int(words[position + 2]) * tick
    return own, others


@dataclass(frozen=True)
class _Tasks:
    """Counts of a process's threads in a sample. running: those that run or are ready to; wanting:
    the same with those that wait for a mutex; realtime: those with a real-time policy; processors:
    those that any thread may use; cpu: processor time in ns of each thread."""

    running: float
    wanting: float
    realtime: int
    processors: set[int]
    cpu: dict[int, float]


def _tasks(files: TaskFiles, threads: ThreadNumbers, waiting: set[int]) -> _Tasks:
    """Return the counts. waiting: the threads that wait for a mutex, by the process's own numbers,
    as in `_Tasks.cpu`."""
    tasks = files.numbers()
    step = -(-len(tasks) // _TASKS) or 1
    running = wanting = realtime = 0
    processors: set[int] = set()
    cpu: dict[int, float] = {}
    for number in tasks[::step]:
        with contextlib.suppress(OSError):
            _, words = files.stat(number)
            runs = words[0] == "R"
            tid = threads.inside(number)
            cpu[tid] = sum(map(int, words[_CPU])) * _TICK
            realtime += int(words[_POLICY]) in _REALTIME_POLICIES
            running += runs
            wanting += runs or tid in waiting
            processors |= os.sched_getaffinity(number)
    return _Tasks(float(running * step), float(wanting * step), realtime * step, processors, cpu)


def _field(text: str, name: str) -> str | None:
    """Return the number in a line of a file of /proc."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].split()[0]
    return None
