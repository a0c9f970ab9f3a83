"""The sleeping waiters of a running process, from /proc.

A thread that sleeps for a mutex is in the system call futex with the mutex's address, and the mutex
contains its owner. Under a lock of Lockwright the word that a thread sleeps on is elsewhere: the
mutex is an argument that the kernel ignores, see include/lockwright/env/native/futex.hpp. Nothing
is injected into the process, and it is not stopped. Uncontended acquisitions and the length of
critical sections remain unknown.
"""

import contextlib
import os
import platform
import struct
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from lockwright.base.errors import LockwrightError
from lockwright.base.process_numbers import ThreadNumbers, is_running
from lockwright.preload.locks import registry
from lockwright.profile.frames import Frame
from lockwright.profile.mutex_lines import taken_at
from lockwright.profile.outside.memory import MappedMemory
from lockwright.profile.outside.process import OWN_LIBRARY, SampledProcess
from lockwright.profile.record import FIRST_TAKEN, OBJECT, Place
from lockwright.profile.symbols import Symbols
from lockwright.profile.thread_states import FUTEX, WAITS, Activity, TaskFiles
from lockwright.profile.waiting import Holder

PERIOD = 0.01
"""Seconds between two samples."""

_SLEEPERS = 2
"""The value of a mutex's word while it may have sleeping waiters, who wait for it to change."""
_LIBRARIES = ("libc.so", "libpthread", "ld-linux", "libc-2", OWN_LIBRARY)


@dataclass
class Wait:
    """The sleep of a thread for a mutex. begin, end: ns since the first sample; caller: address
    after the call of the lock function, 0 if unknown."""

    address: int
    begin: float
    end: float
    caller: int


@dataclass
class Samples:
    """Sums over the samples, by the address of the mutex. waits: finished waits, with their
    threads. waiters: waiting threads, summed over the samples; waited: samples with any waiter;
    most: waiters in one sample. owned: mutexes with an owner in the process in any sample. holders:
    number of samples with a waiter by the owner, and what it did. names: of threads. count: of
    samples. threads: summed over the samples."""

    waits: list[tuple[int, Wait]] = field(default_factory=list)
    waiters: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    waited: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    most: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    kinds: dict[int, int] = field(default_factory=dict)
    owned: set[int] = field(default_factory=set)
    holders: defaultdict[int, Counter[tuple[int, str]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    names: dict[int, str] = field(default_factory=dict)
    count: int = 0
    threads: int = 0
    threads_most: int = 0
    processors: set[int] = field(default_factory=set)

    def holders_of(self, address: int) -> tuple[Holder, ...]:
        """Return the threads that held a mutex while others waited, most frequent first."""
        return tuple(
            Holder(tid, self.names.get(tid, ""), doing, count)
            for (tid, doing), count in self.holders[address].most_common()
        )


def examination_error(pid: int, error: OSError) -> LockwrightError:
    """Return the error message for a process that is missing or may not be examined."""
    if isinstance(error, (FileNotFoundError, ProcessLookupError)):
        return LockwrightError(f"there is no process {pid}", "see 'ps -e'")
    return LockwrightError(
        f"process {pid} cannot be examined: {error.strerror}",
        "run as root, or as its user with /proc/sys/kernel/yama/ptrace_scope at 0",
    )


class Attached:
    """A sampled process. asleep: the unfinished waits, by thread; outside: its samples of what is
    no mutex, too."""

    def __init__(self, pid: int) -> None:
        """Open the process. Raises LockwrightError if it is missing or permission is denied."""
        if FUTEX is None:
            raise LockwrightError(
                f"--pid is not supported on {platform.machine()}", "give a command instead"
            )
        self.process = Path(f"/proc/{pid}")
        try:
            self._memory = MappedMemory(self.process)
            self._memory.refresh()
            self._files = TaskFiles(self.process)
            self._files.text(pid, "syscall")
            self.outside = SampledProcess(pid, is_running=True)
        except OSError as error:
            raise examination_error(pid, error) from error
        command = (self.process / "cmdline").read_bytes().split(b"\0")[:-1]
        self.command = tuple(os.fsdecode(word) for word in command)
        self.program = str((self.process / "exe").readlink())
        self.samples = Samples()
        self.asleep: dict[int, Wait] = {}
        self.began = time.monotonic()
        self._activity = Activity(self._files)
        self._threads = ThreadNumbers(self.process)
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        self._files.close()
        self.outside.close()

    @property
    def elapsed(self) -> float:
        """Nanoseconds since the first sample."""
        return 1e9 * (time.monotonic() - self.began)

    @property
    def threads_seen(self) -> int:
        """The number of different threads in the samples."""
        return len(self._seen)

    @property
    def remark(self) -> str:
        """A remark if the process runs under a lock whose waiters do not sleep; else ""."""
        libraries = {Path(mapping.path).name for mapping, _ in self._memory.mappings}
        for lock in registry():
            if f"{OWN_LIBRARY}-{lock.name}.so" in libraries and "park" not in lock.waiting:
                return (
                    f"it runs under {lock.name}, whose waiters do not sleep, so none is seen: run"
                    " it under another lock, or profile its command"
                )
        return ""

    def symbols(self) -> Symbols:
        """Return the symbols of the process, including files loaded since the start."""
        with contextlib.suppress(OSError):
            self._memory.refresh()
        return Symbols([mapping for mapping, _ in self._memory.mappings], self.program)

    def sample(self) -> bool:
        """Record what threads wait for; return False if the process has ended."""
        tids = self._files.numbers()
        if len(tids) < 2 and not is_running(int(self.process.name)):
            return False
        samples, asleep, now = self.samples, self.asleep, self.elapsed
        samples.count += 1
        samples.threads += len(tids)
        samples.threads_most = max(samples.threads_most, len(tids))
        now_asleep: defaultdict[int, int] = defaultdict(int)
        owners: dict[int, int] = {}
        numbers = {self._threads.inside(tid): tid for tid in tids}
        self._seen.update(tids)
        for tid in tids:
            if samples.count == 1:
                with contextlib.suppress(OSError):
                    samples.processors |= os.sched_getaffinity(tid)
            sleeper = self._sleeper(tid, numbers)
            wait = asleep.get(tid)
            if wait is not None and (sleeper is None or sleeper[0] != wait.address):
                samples.waits.append((tid, asleep.pop(tid)))
                wait = None
            if sleeper is None:
                continue
            address, kind, stack, owner = sleeper
            now_asleep[address] += 1
            if owner:
                samples.owned.add(address)
                owners[address] = owner
            samples.kinds[address] = kind
            if wait is None:
                wait = asleep[tid] = Wait(address, now, now, _caller(self._memory, stack))
                self._note_name(tid)
            # A sample stands for the period after it.
            wait.end = now + 1e9 * PERIOD
        for address, count in now_asleep.items():
            samples.waiters[address] += count
            samples.waited[address] += 1
            samples.most[address] = max(samples.most[address], count)
        for address, owner in owners.items():
            samples.holders[address][owner, self._doing(owner, asleep)] += 1
            self._note_name(owner)
        with contextlib.suppress(OSError):
            self.outside.look()
            self.outside.sample()
        return True

    def _note_name(self, tid: int) -> None:
        if tid not in self.samples.names:
            with contextlib.suppress(OSError):
                self.samples.names[tid] = self._files.stat(tid)[0]

    def _sleeper(self, tid: int, numbers: dict[int, int]) -> tuple[int, int, int, int] | None:
        """Return the address of the mutex that a thread may sleep for, its kind, the thread's stack
        pointer, and the mutex's owner now, 0 if it has none; None if it does not sleep for one.
        numbers: of the threads here, by those inside, which mutexes contain."""
        try:
            call = self._files.call(tid)
            sleep = call.futex if call is not None else None
            if sleep is None or sleep.operation not in WAITS:
                return None
            code = self._memory.code(sleep.pc)
            is_ours = code is not None and Path(code.path).name.startswith(OWN_LIBRARY)
            if not is_ours and sleep.value != _SLEEPERS:
                return None
            address = sleep.ignored if is_ours else sleep.address
            word, _, owner, _, kind = struct.unpack("=IIIIi", self._memory.read(address, 20))
        except (OSError, struct.error):
            return None
        if owner != 0 and owner not in numbers:
            return None
        if not is_ours and (word not in (0, 1, _SLEEPERS) or not 0 <= kind < 1024):
            return None
        return address, kind, sleep.stack, numbers.get(owner, 0)

    def _doing(self, tid: int, asleep: dict[int, Wait]) -> str:
        return "waiting for a mutex itself" if tid in asleep else self._activity.of(tid)


def place_of(address: int, caller: int, symbols: Symbols) -> Place:
    """Return the variable that contains a mutex, otherwise the caller that waits for it."""
    if symbols.mapping(address) is not None:
        return Place(OBJECT, symbols.place(address))
    if not caller:
        return Place(FIRST_TAKEN, Frame("", 0), -1)
    site = taken_at(symbols, caller)
    return Place(FIRST_TAKEN, symbols.caller(caller), -1, site.stack, site.wrappers)


def _caller(memory: MappedMemory, stack: int) -> int:
    """Return the innermost return address on the stack outside the C library; 0 without one."""
    for address in memory.callers(stack):
        code = memory.code(address)
        if code is not None and not Path(code.path).name.startswith(_LIBRARIES):
            return address
    return 0
