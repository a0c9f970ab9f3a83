"""What a process passes on to the programs that it starts: processors, scheduling policy, pages.

Used by the supervisor, with the standard library only. None of it needs privileges.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence

_PR_SET_THP_DISABLE = 41
"""prctl(2): whether the process and its children have no transparent huge pages."""


def pass_on(processors: Sequence[int] = (), batch: bool = False, small_pages: bool = False) -> None:
    """Change this process. processors: the allowed ones, unchanged if empty; batch: SCHED_BATCH;
    small_pages: no transparent huge pages. Raises OSError."""
    if processors:
        os.sched_setaffinity(0, processors)
    if batch:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if small_pages:
        _set_small_pages(True)


@contextlib.contextmanager
def passed_on(processors: Sequence[int], batch: bool, small_pages: bool) -> Iterator[None]:
    """Do so for the programs that are started within the context."""
    before = os.sched_getaffinity(0)
    try:
        pass_on(processors, batch, small_pages)
        yield
    finally:
        os.sched_setaffinity(0, before)
        if batch:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if small_pages:
            _set_small_pages(False)


def _set_small_pages(value: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_THP_DISABLE, int(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
