"""The registers of running threads at interruptions by the kernel's clock, and what they tell.

perf_event_open(2) gives them without any effect on the thread, where the system allows it
(perf_event_paranoid at most 2).
"""

import mmap
import os
import platform
import struct
import time
from dataclasses import dataclass
from typing import Final

from lockwright.machine.perf.event import (
    ADDRESS,
    EXCLUDE_KERNEL,
    SOFTWARE,
    TASK_CLOCK,
    USER_REGISTERS,
    Sampling,
    open_event,
)

_REGISTERS: Final = {"x86_64": 0xFF00FF, "aarch64": (1 << 32) - 1}
"""The general registers, as bits of asm/perf_regs.h."""

_PERIOD_NS = 100_000
"""Between two interruptions; more than a computation takes to come back to the same registers."""

_SAMPLES = 4
"""Interruptions that decide."""

_SECONDS = 0.003
"""Limit on the wait for them; a thread without a processor has none."""

_LOOP = 64
"""Most bytes between the instructions of a loop that spins."""

_HEAD = 1024
"""Offset of the end of the records in the first page."""

_SAMPLE = 9
"""Type of a record."""


@dataclass(frozen=True)
class Registers:
    """The user's registers at an interruption. instruction: its address."""

    instruction: int
    others: tuple[int, ...]


def is_spinning(seen: list[Registers]) -> bool:
    """Return whether registers at several moments are those of a loop that reads the same words
    until another thread changes one: those of a computation change."""
    places = [each.instruction for each in seen]
    return (
        len(seen) >= _SAMPLES
        and max(places) - min(places) <= _LOOP
        and len({each.others for each in seen}) == 1
    )


def registers(tid: int) -> list[Registers]:
    """Return the registers of a thread at the next interruptions, by its number here; [] if it does
    not run. Raises OSError if that is not allowed, ProcessLookupError if it has ended."""
    names = _REGISTERS.get(platform.machine(), 0)
    sampling = Sampling(_PERIOD_NS, ADDRESS | USER_REGISTERS, names)
    event = open_event(SOFTWARE, TASK_CLOCK, tid, EXCLUDE_KERNEL, sampling)
    try:
        with mmap.mmap(event, 2 * mmap.PAGESIZE) as ring:
            end = time.monotonic() + _SECONDS
            while time.monotonic() < end:
                time.sleep(_PERIOD_NS / 1e9)
                if len(found := _records(ring)) >= _SAMPLES:
                    return found
    finally:
        os.close(event)
    return []


def _records(ring: mmap.mmap) -> list[Registers]:
    """Return the samples in a ring that has not been full yet."""
    (head,) = struct.unpack_from("=Q", ring, _HEAD)
    found, at = [], 0
    while at + 8 <= min(head, mmap.PAGESIZE):
        kind, _, size = struct.unpack_from("=IHH", ring, mmap.PAGESIZE + at)
        if not size:
            break
        if kind == _SAMPLE and size > 24:
            place, _, *values = struct.unpack_from(
                f"={(size - 8) // 8}Q", ring, mmap.PAGESIZE + at + 8
            )
            found.append(Registers(place, tuple(values)))
        at += size
    return found
