"""What a thread does, by the kernel's word: runs, or sleeps in which system call."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_SLEEPS = {
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
}  # fmt: skip
"""The system calls in which threads commonly sleep, by their numbers."""
_STATES = {"R": "running or ready to run", "D": "in the kernel", "T": "stopped", "t": "stopped"}
"""What a thread does that is not asleep, by its state in /proc."""


@dataclass(frozen=True)
class SystemCall:
    """A system call in which a thread sleeps: its number and its first arguments."""

    number: int
    arguments: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its name, or its number."""
        known = _SLEEPS.get(platform.machine(), {})
        return known.get(self.number) or f"system call {self.number}"


def name_and_state(task: str) -> tuple[str, str]:
    """Return a thread's name, and the letter of its state in proc(5), R if it runs or is ready to.
    task: its directory in /proc. Raises OSError if it has ended."""
    file = os.open(f"{task}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(file, 512).decode(errors="replace")
    finally:
        os.close(file)
    before, _, after = text.rpartition(") ")
    return before.partition("(")[2], after[:1] or "X"


def system_call(task: Path) -> SystemCall | None:
    """Return the system call in which a thread sleeps; None if it is in none. Raises OSError if it
    has ended or may not be traced."""
    words = (task / "syscall").read_text().split()
    if not words or not words[0].isdigit():
        return None
    return SystemCall(int(words[0]), tuple(int(word, 16) for word in words[1:7]))


def words(task: Path) -> str:
    """Return what a thread does, in a few words."""
    try:
        _, state = name_and_state(str(task))
        if state != "S" and state in _STATES:
            return _STATES[state]
        call = system_call(task)
    except OSError:
        return "unknown"
    return f"asleep in {call.name}" if call is not None else "asleep"
