"""Findings about functions of the kernel and the C library that locks use."""

import ctypes
import platform
from dataclasses import dataclass

from lockwright.machine.finding import Finding, Subject

_MEMBARRIER = {"x86_64": 324, "aarch64": 283}
"""The number of the system call: asm/unistd_64.h and asm-generic/unistd.h of Linux."""

_QUERY = 0
_PRIVATE_EXPEDITED = 1 << 3
"""MEMBARRIER_CMD_QUERY and MEMBARRIER_CMD_PRIVATE_EXPEDITED of linux/membarrier.h."""

_PROCESSOR = Subject(
    "current processor",
    "one load tells a waiter its processor: adaptive sleeps at once if the holder was preempted by "
    "it, and locks that know nodes find theirs",
)
_BARRIER = Subject("membarrier", "the biased locks enter without an atomic operation")


@dataclass(frozen=True)
class Signals:
    """The functions of the system. rseq: the C library has registered restartable sequences;
    membarrier: the kernel runs a barrier on the processors of one process. None where unknown."""

    rseq: bool | None = None
    membarrier: bool | None = None


def query() -> Signals:
    """Return the functions of the C library and the kernel."""
    libc = ctypes.CDLL(None)
    try:
        rseq = ctypes.c_uint.in_dll(libc, "__rseq_size").value != 0
    except ValueError:
        rseq = False
    number = _MEMBARRIER.get(platform.machine())
    if number is None:
        return Signals(rseq)
    commands = max(0, libc.syscall(number, _QUERY, 0))  # negative: refused
    return Signals(rseq, commands & _PRIVATE_EXPEDITED != 0)


def current_processor(signals: Signals) -> Finding:
    """Return the finding about how a thread determines its processor."""
    if signals.rseq:
        return _PROCESSOR.ok("restartable sequences")
    return _PROCESSOR.absent(
        "restartable sequences are not registered",
        "use glibc 2.35 or later, without glibc.pthread.rseq=0 in GLIBC_TUNABLES",
        "a waiter that asks for its processor calls getcpu",
    )


def barrier(signals: Signals) -> Finding:
    """Return the finding about the system call membarrier."""
    if signals.membarrier:
        return _BARRIER.ok("expedited")
    return _BARRIER.absent(
        "the kernel does not have it, or forbids it",
        "use Linux 4.14 or later, and a seccomp profile that allows membarrier",
        "the biased locks enter by a fence, which costs what they save",
    )
