"""Opens and reads one performance event, see perf_event_open(2).

The system call is stable, while the program `perf` depends on the kernel's version.
"""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass
from typing import NamedTuple

HARDWARE = 0
SOFTWARE = 1
"""Values of perf_event_attr.type."""

TASK_CLOCK = 1
"""Of the software's events: the time in ns for which the thread runs."""

DISABLED = 1 << 0
INHERIT = 1 << 1
EXCLUDE_KERNEL = 1 << 5
ENABLE_ON_EXEC = 1 << 12
"""Bits of perf_event_attr."""

_NUMBERS = {"x86_64": 298, "aarch64": 241}
"""The number of the system call."""

_TOTAL_TIMES = 1 | 2
"""read_format: the times that the event was enabled and that it was running."""

_CLOEXEC = 8

_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
"""The first version of perf_event_attr, which every kernel accepts (PERF_ATTR_SIZE_VER0): type,
size, config, sample_period, sample_type, read_format, bits, wakeup_events, bp_type, config1."""

_REGISTERS = struct.Struct("=QQQIi")
"""What the fourth version (PERF_ATTR_SIZE_VER3) adds: config2, branch_sample_type,
sample_regs_user, sample_stack_user, clockid."""

ADDRESS = 1 << 0
USER_REGISTERS = 1 << 12
"""Bits of sample_type: the address of the instruction; the registers named besides."""


class Sampling(NamedTuple):
    """Records of an event. period: of the event, between two; fields: bits of sample_type;
    registers: bits of asm/perf_regs.h."""

    period: int
    fields: int
    registers: int


def open_event(
    kind: int, config: int, pid: int, bits: int, sampling: Sampling | None = None
) -> int:
    """Return a descriptor of the event; the caller closes it.

    pid: 0 for the calling thread; sampling: records that the event writes to memory mapped from
    the descriptor. Raises OSError; ENOSYS on an architecture whose system call number is unknown.
    """
    number = _NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    libc = ctypes.CDLL(None, use_errno=True)
    size, more = _ATTRIBUTES.size, b""
    if sampling is not None:
        more = _REGISTERS.pack(0, 0, sampling.registers, 0, 0)
        size += len(more)
    period, fields, _ = sampling or Sampling(0, 0, 0)
    words = (kind, size, config, period, fields, _TOTAL_TIMES, bits, 0, 0, 0)
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.pack(*words) + more, size)
    handle: int = libc.syscall(
        ctypes.c_long(number),
        attributes,
        ctypes.c_int(pid),
        ctypes.c_int(-1),
        ctypes.c_int(-1),
        ctypes.c_ulong(_CLOEXEC),
    )
    if handle < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return handle


@dataclass(frozen=True)
class Reading:
    """The count of an event. enabled, running: nanoseconds for which it was enabled and for which
    it counted; they differ if several events shared the processor's counters."""

    value: int
    enabled: int
    running: int


def read_event(handle: int) -> Reading:
    """Read an event. Raises OSError, also if the kernel returns too few bytes."""
    data = os.read(handle, 24)
    if len(data) != 24:
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return Reading(*struct.unpack("=QQQ", data))


def why_not(error: OSError) -> str:
    """Return a short explanation of the kernel's error."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return "not allowed to this user (perf_event_paranoid)"
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "the processor has no such counter"
    if error.errno == errno.ENOSYS:
        return "this kernel has no performance events"
    return error.strerror or str(error)


def hardware_refusal() -> str:
    """Return the reason why the cycles of this process cannot be counted; "" if they can."""
    try:
        handle = open_event(HARDWARE, 0, 0, DISABLED | EXCLUDE_KERNEL)
    except OSError as error:
        return why_not(error)
    with contextlib.suppress(OSError):
        os.close(handle)
    return ""
