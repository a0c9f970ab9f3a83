"""Counts of a program and its descendants: cycles, instructions, cache misses, migrations."""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lockwright.machine.perf.event import (
    DISABLED,
    ENABLE_ON_EXEC,
    EXCLUDE_KERNEL,
    HARDWARE,
    INHERIT,
    SOFTWARE,
    Reading,
    open_event,
    read_event,
    why_not,
)


@dataclass(frozen=True)
class Counter:
    """A hardware or software event. type, config: those of perf_event_attr; needs_kernel: True if
    it occurs in the kernel only and is therefore 0 for a user who may not count there."""

    name: str
    type: int
    config: int
    meaning: str
    needs_kernel: bool = False


COUNTERS = (
    Counter("cycles", HARDWARE, 0, "processor cycles (PERF_COUNT_HW_CPU_CYCLES)"),
    Counter("instructions", HARDWARE, 1, "instructions retired (PERF_COUNT_HW_INSTRUCTIONS)"),
    Counter("cache misses", HARDWARE, 3, "last-level cache misses (PERF_COUNT_HW_CACHE_MISSES)"),
    Counter(
        "migrations",
        SOFTWARE,
        4,
        "times a thread moved to another processor (PERF_COUNT_SW_CPU_MIGRATIONS)",
        needs_kernel=True,
    ),
)

USER_ONLY = "in the program only, the kernel left out (perf_event_paranoid)"
"""Remark on a counter that is allowed for user mode only."""

Opener = Callable[[int, int, int, int], int]
"""A function of type, config, process and bits that returns a descriptor or raises OSError."""


class Counting:
    """Counters of the programs that a process starts by exec after this, and of their descendants.

    pid: the process whose first thread starts the programs; 0 for the calling thread. absent: the
    reason, by name, for each missing counter. remarks: restrictions of the others, by name.
    """

    def __init__(self, pid: int = 0, opener: Opener = open_event) -> None:
        self.absent: dict[str, str] = {}
        self.remarks: dict[str, str] = {}
        self._handles: dict[str, int] = {}
        bits = DISABLED | INHERIT | ENABLE_ON_EXEC
        for each in COUNTERS:
            try:
                handle = opener(each.type, each.config, pid, bits)
            except PermissionError as error:
                if each.needs_kernel:
                    self.absent[each.name] = why_not(error)
                    continue
                try:
                    handle = opener(each.type, each.config, pid, bits | EXCLUDE_KERNEL)
                except OSError as second:
                    self.absent[each.name] = why_not(second)
                    continue
                self.remarks[each.name] = USER_ONLY
            except OSError as error:
                self.absent[each.name] = why_not(error)
                continue
            self._handles[each.name] = handle

    def end(self, read: Callable[[int], Reading] = read_event) -> Mapping[str, float]:
        """Return the counts, by name, of the programs that have ended; close all counters. A
        counter that shared the hardware is absent: its count is incomplete."""
        counts: dict[str, float] = {}
        for name, handle in self._handles.items():
            try:
                reading = read(handle)
            except OSError as error:
                self.absent[name] = why_not(error)
                continue
            finally:
                with contextlib.suppress(OSError):
                    os.close(handle)
            if reading.running < reading.enabled:
                self.absent[name] = (
                    "it did not count all the time: other events had the processor's counters, or "
                    "some processors have none"
                )
            else:
                counts[name] = float(reading.value)
        self._handles = {}
        return counts
