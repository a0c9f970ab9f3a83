"""What threads do, by the kernel's word: run, or sleep in which system call.

Nothing is injected into their process, and it is not stopped. Files of /proc stay open between
samples: to open one takes several times as long as to read it.
"""

import contextlib
import os
import platform
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from lockwright.base import clock

FUTEX: Final = {"x86_64": 202, "aarch64": 98}.get(platform.machine())
"""The number of the system call futex; None if it is not known for this machine."""

_FUTEX_WAIT = 455
"""The number of the newer system call futex_wait, of all machines."""

WAITS: Final = (0, 9)
"""Operations of futex, without their flags, that sleep until a word changes."""

TAKES: Final = (6, 13)
"""Those that sleep until the thread owns the word, which then has its number."""

_WAIT_REQUEUE = 11

_BEGAN = 19
"""Index of the time at which a thread began in its `stat`, counted from its state."""

_TICK: Final = 1e9 / os.sysconf("SC_CLK_TCK")
"""Nanoseconds of its unit."""

_MOST_FILES = 192
"""Limit on the files of a process that stay open, of the 1,024 that are usually allowed."""

_SLEEPS: Final = {
    "x86_64": {
        0: "read", 1: "write", 7: "poll", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
        23: "select", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto",
        45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 72: "fcntl", 73: "flock",
        74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait", 202: "futex",
        230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6",
        271: "ppoll", 281: "epoll_pwait", 288: "accept4", 426: "io_uring_enter",
    },
    "aarch64": {
        22: "epoll_pwait", 25: "fcntl", 32: "flock", 56: "openat", 63: "read", 64: "write",
        65: "readv", 66: "writev", 67: "pread64", 68: "pwrite64", 72: "pselect6", 73: "ppoll",
        82: "fsync", 83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep",
        115: "clock_nanosleep", 137: "rt_sigtimedwait", 202: "accept", 203: "connect",
        206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4",
        260: "wait4", 426: "io_uring_enter",
    },
}.get(platform.machine(), {})  # fmt: skip
"""The system calls in which threads commonly sleep, by their numbers."""
_STATES = {"D": "in the kernel", "T": "stopped", "t": "stopped"}
"""What a thread does that neither runs nor is asleep, by its state in /proc."""

_RECENT_NS = 2_000_000
"""A sample takes less: within it, a thread is asked for again if it has several objects."""


class FutexSleep(NamedTuple):
    """A futex call in which a thread sleeps. address: of the word; operation: without flags; value:
    that the word had; ignored: the argument that the kernel ignores; stack, pc: the stack pointer
    and the address behind the system call."""

    address: int
    operation: int
    value: int
    ignored: int
    stack: int
    pc: int


class SystemCall(NamedTuple):
    """A system call in which a thread sleeps: its number, its arguments, stack pointer and pc."""

    number: int
    arguments: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its name, or its number."""
        return _SLEEPS.get(self.number) or f"system call {self.number}"

    @property
    def futex(self) -> FutexSleep | None:
        """The wait for a word, if it is one."""
        if self.number not in (FUTEX, _FUTEX_WAIT) or len(self.arguments) < 8:
            return None
        address, second, value, _, ignored, _, stack, pc = self.arguments
        if self.number == _FUTEX_WAIT:
            return FutexSleep(address, WAITS[0], second & 0xFFFFFFFF, 0, stack, pc)
        operation = second & 127
        if operation not in (*WAITS, *TAKES, _WAIT_REQUEUE):
            return None
        return FutexSleep(address, operation, value & 0xFFFFFFFF, ignored, stack, pc)


@dataclass(frozen=True)
class ThreadKind:
    """What makes up a thread's role. routine: address of the function in which it began, 0 if
    unknown; is_main: whether it is the first of its process."""

    name: str
    routine: int
    is_main: bool


class Scheduled(NamedTuple):
    """The kernel's sums for a thread. ran, ready: ns on a processor, and ready to run without one;
    slices: how often it got a processor."""

    ran: int
    ready: int
    slices: int


class TaskFiles:
    """The kernel's data on the threads of a process, by their numbers here; also of one of another
    process. All raise OSError for a thread that has ended, or that may not be examined."""

    def __init__(self, process: Path) -> None:
        """process: its directory in /proc."""
        self._processes, self._tasks = process.parent, process / "task"
        self._open: dict[tuple[int, str], int] = {}
        self._present: frozenset[int] = frozenset()

    def close(self) -> None:
        """Close all files."""
        for file in self._open.values():
            os.close(file)
        self._open.clear()

    def numbers(self) -> list[int]:
        """Return the threads; none if the process has ended."""
        try:
            numbers = [int(name) for name in os.listdir(self._tasks)]  # noqa: PTH208
        except OSError:
            numbers = []
        present = frozenset(numbers)
        if not present >= self._present:
            for key in [key for key in self._open if key[0] not in present]:
                os.close(self._open.pop(key))
        self._present = present
        return numbers

    def text(self, number: int, name: str) -> str:
        """Return the beginning of a file of a thread."""
        key = number, name
        if (file := self._open.get(key)) is not None:
            with contextlib.suppress(OSError):
                return os.pread(file, 512, 0).decode(errors="replace")
            os.close(self._open.pop(key))  # the number may be another thread's now
        file = os.open(
            f"{self._processes}/{number}/task/{number}/{name}", os.O_RDONLY | os.O_CLOEXEC
        )
        try:
            found = os.pread(file, 512, 0)
        except OSError:
            os.close(file)
            raise
        if len(self._open) < _MOST_FILES:
            self._open[key] = file
        else:
            os.close(file)
        return found.decode(errors="replace")

    def stat(self, number: int) -> tuple[str, list[str]]:
        """Return a thread's name, and the words of `stat` after it: the state in front."""
        before, _, after = self.text(number, "stat").rpartition(") ")
        return before.partition("(")[2], after.split() or ["X"]

    def age_ns(self, number: int) -> int:
        """Return the ns since a thread began, to a tick of 10 ms."""
        began = int(self.stat(number)[1][_BEGAN]) * _TICK
        return max(0, int(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began))

    def call(self, number: int) -> SystemCall | None:
        """Return the system call in which a thread sleeps; None if it is in none."""
        words = self.text(number, "syscall").split()
        if not words or not words[0].isdigit():
            return None
        return SystemCall(int(words[0]), tuple(int(word, 16) for word in words[1:]))

    def scheduled(self, number: int) -> Scheduled:
        """Return the sums of a thread. Raises ValueError if the kernel has none."""
        return Scheduled(*map(int, self.text(number, "schedstat").split()))


@dataclass
class Activity:
    """What threads of a process do, in a few words each."""

    files: TaskFiles
    _before: dict[int, tuple[int, Scheduled, str]] = field(default_factory=dict)

    def of(self, number: int) -> str:
        """Return what a thread does. Whether one runs that is ready to is known from its second
        sample on: by what it mostly did since the one before."""
        try:
            state = self.files.stat(number)[1][0]
            if state == "R":
                return self._running(number)
            call = self.files.call(number)
        except (OSError, ValueError, TypeError):
            return "unknown"
        if state in _STATES:
            return _STATES[state]
        return f"asleep in {call.name}" if call is not None else "asleep"

    def _running(self, number: int) -> str:
        now, sums = clock.monotonic_ns(), self.files.scheduled(number)
        before_ns, before, doing = self._before.get(number, (0, sums, "running or ready to run"))
        if before_ns and now - before_ns < _RECENT_NS:
            return doing
        if before_ns:
            # The time on the run queue is added when it ends.
            is_running = sums.ran - before.ran > sums.ready - before.ready
            doing = "running" if is_running else "ready to run, without a processor"
        self._before[number] = now, sums, doing
        return doing
