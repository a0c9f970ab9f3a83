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
from lockwright.elf.file import load
from lockwright.preload.locks import registry
from lockwright.profile import thread_states
from lockwright.profile.frames import Frame
from lockwright.profile.mutex_lines import taken_at
from lockwright.profile.record import FIRST_TAKEN, OBJECT, Holder, Place
from lockwright.profile.symbols import Mapping, Symbols

PERIOD = 0.01
"""Seconds between two samples."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
_WAITS = (0, 9)
"""Futex operations that sleep until a word changes, without their flags."""
_SLEEPERS = 2
"""The value of a mutex's word while it may have sleeping waiters, who wait for it to change."""
_STACK = 2048
"""Bytes of the stack that are searched for the caller of the lock function."""
_OWN_LIBRARY = "liblockwright-"
_LIBRARIES = ("libc.so", "libpthread", "ld-linux", "libc-2", _OWN_LIBRARY)


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
    """A sampled process. asleep: the unfinished waits, by thread."""

    def __init__(self, pid: int) -> None:
        """Open the process. Raises LockwrightError if it is missing or permission is denied."""
        futex = _FUTEX.get(platform.machine())
        if futex is None:
            raise LockwrightError(
                f"--pid is not supported on {platform.machine()}", "give a command instead"
            )
        self._futex = futex
        self.process = Path(f"/proc/{pid}")
        try:
            self._memory = os.open(self.process / "mem", os.O_RDONLY | os.O_CLOEXEC)
            next(iter((self.process / "task").iterdir())).joinpath("syscall").read_text()
        except OSError as error:
            raise examination_error(pid, error) from error
        command = (self.process / "cmdline").read_bytes().split(b"\0")[:-1]
        self.command = tuple(os.fsdecode(word) for word in command)
        self.program = str((self.process / "exe").readlink())
        self.samples = Samples()
        self.asleep: dict[int, Wait] = {}
        self.began = time.monotonic()
        self.mappings = mappings_of(self.process)
        self._code = [mapping for mapping in self.mappings if mapping[1]]
        self._threads = ThreadNumbers(self.process)
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)

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
        libraries = {Path(mapping.path).name for mapping, _ in self._code}
        for lock in registry():
            if f"{_OWN_LIBRARY}{lock.name}.so" in libraries and "park" not in lock.waiting:
                return (
                    f"it runs under {lock.name}, whose waiters do not sleep, so none is seen: run"
                    " it under another lock, or profile its command"
                )
        return ""

    def symbols(self) -> Symbols:
        """Return the symbols of the process, including files loaded since the start."""
        with contextlib.suppress(OSError):
            self.mappings = mappings_of(self.process)
            self._code = [mapping for mapping in self.mappings if mapping[1]]
        return Symbols([mapping for mapping, _ in self.mappings], self.program)

    def sample(self) -> bool:
        """Record the waiters of each mutex; return False if the process has ended."""
        try:
            tids = [int(task.name) for task in (self.process / "task").iterdir()]
            if len(tids) == 1 and not is_running(int(self.process.name)):
                return False
        except OSError:
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
                wait = asleep[tid] = Wait(
                    address, now, now, _caller(self._memory, stack, self._code)
                )
                self._note_name(tid)
            # A sample stands for the period after it.
            wait.end = now + 1e9 * PERIOD
        for address, count in now_asleep.items():
            samples.waiters[address] += count
            samples.waited[address] += 1
            samples.most[address] = max(samples.most[address], count)
        for address, owner in owners.items():
            samples.holders[address][owner, self._activity(owner, asleep)] += 1
            self._note_name(owner)
        return True

    def _note_name(self, tid: int) -> None:
        if tid not in self.samples.names:
            with contextlib.suppress(OSError):
                text = (self.process / "task" / str(tid) / "comm").read_text(errors="replace")
                self.samples.names[tid] = text.rstrip("\n")

    def _sleeper(self, tid: int, numbers: dict[int, int]) -> tuple[int, int, int, int] | None:
        """Return the address of the mutex that a thread may sleep for, its kind, the thread's stack
        pointer, and the mutex's owner now, 0 if it has none; None if it does not sleep for one.
        numbers: of the threads here, by those inside, which mutexes contain."""
        try:
            words = (self.process / "task" / str(tid) / "syscall").read_text().split()
            if len(words) < 9 or int(words[0]) != self._futex:
                return None
            address, operation, value, _, awaited, _, stack, pc = (
                int(word, 16) for word in words[1:]
            )
            if operation & 127 not in _WAITS:
                return None
            is_ours = any(
                mapping.start <= pc < mapping.end
                and Path(mapping.path).name.startswith(_OWN_LIBRARY)
                for mapping, _ in self._code
            )
            if is_ours:
                address = awaited
            elif value & 0xFFFFFFFF != _SLEEPERS:
                return None
            word, _, owner, _, kind = struct.unpack("=IIIIi", os.pread(self._memory, 20, address))
        except (OSError, ValueError, struct.error):
            return None
        if owner != 0 and owner not in numbers:
            return None
        if not is_ours and (word not in (0, 1, _SLEEPERS) or not 0 <= kind < 1024):
            return None
        return address, kind, stack, numbers.get(owner, 0)

    def _activity(self, tid: int, asleep: dict[int, Wait]) -> str:
        """Return what a thread does, in a few words."""
        if tid in asleep:
            return "waiting for a mutex itself"
        return thread_states.words(self.process / "task" / str(tid))


def place_of(address: int, caller: int, symbols: Symbols) -> Place:
    """Return the variable that contains a mutex, otherwise the caller that waits for it."""
    if symbols.mapping(address) is not None:
        return Place(OBJECT, symbols.place(address))
    if not caller:
        return Place(FIRST_TAKEN, Frame("", 0), -1)
    site = taken_at(symbols, caller)
    return Place(FIRST_TAKEN, symbols.caller(caller), -1, site.stack, site.wrappers)


def _caller(memory: int, stack: int, code: list[tuple[Mapping, bool]]) -> int:
    """Return the innermost return address on the stack outside the C library; 0 without one."""
    try:
        data = os.pread(memory, _STACK, stack)
    except OSError:
        return 0
    for (word,) in struct.iter_unpack("=Q", data[: len(data) // 8 * 8]):
        for mapping, _ in code:
            if mapping.start <= word < mapping.end:
                name = mapping.path.rpartition("/")[2]
                if not name.startswith(_LIBRARIES) and _is_after_call(memory, word):
                    return int(word)
                break
    return 0


def _is_after_call(memory: int, address: int) -> bool:
    """Return whether the instruction before an address is a call."""
    try:
        before = os.pread(memory, 7, address - 7)
    except OSError:
        return False
    if platform.machine() == "aarch64":
        (word,) = struct.unpack("=I", before[3:7])
        return bool(word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000)
    return (
        before[2] == 0xE8
        or (before[1] == 0xFF and before[2] & 0x38 == 0x10)
        or (before[5] == 0xFF and before[6] & 0x38 == 0x10)
        or (before[4] == 0xFF and before[5] & 0x38 == 0x10)
    )


def mappings_of(process: Path, root: str = "") -> list[tuple[Mapping, bool]]:
    """Return the parts of mapped files, each with a flag for code; the anonymous mapping behind a
    file counts as its data. root: the root directory of the process."""
    mappings: list[tuple[Mapping, bool]] = []
    bases: dict[str, int] = {}
    for line in (process / "maps").read_text(errors="replace").splitlines():
        words = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        if path.startswith("/"):
            path = root + path
            if path not in bases:
                bases[path] = _base(Path(path), start - int(words[2], 16))
            mappings.append((Mapping(path, start, end, bases[path]), "x" in words[1]))
        elif not path and mappings and mappings[-1][0].end == start and "w" in words[1]:
            # Zero-initialised variables.
            last = mappings[-1][0]
            mappings.append((Mapping(last.path, start, end, last.base), False))
    return mappings


def _base(path: Path, start: int) -> int:
    """Return the address to which a file's addresses are relative, if its first byte is mapped at
    `start`."""
    with contextlib.suppress(OSError):
        header = load(path).header
        if header is not None and not header.shared:
            return 0
    return start
