"""The kernel's clock, also where another library, as libfaketime, replaces the C library's."""

import contextlib
import ctypes
import time


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_C_LIBRARY: ctypes.CDLL | None = None
with contextlib.suppress(OSError):
    # Names are looked up in this library, not first in those that were preloaded.
    _C_LIBRARY = ctypes.CDLL("libc.so.6")


def monotonic_ns() -> int:
    """Return the monotonic clock in ns, as the libraries in a program read it."""
    now = _Time()
    if _C_LIBRARY is None or _C_LIBRARY.clock_gettime(time.CLOCK_MONOTONIC, ctypes.byref(now)):
        return time.monotonic_ns()
    return int(now.seconds) * 1_000_000_000 + int(now.nanoseconds)
