"""Records that the profiler's library cannot have written.

The profiled program has write access to them: a stray write of its own reaches them as it reaches
any other memory.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.base.errors import LockwrightError
from lockwright.profile.buffer import Buffer, constant

_MOST = 1 << 60
"""Limit on counts and on sums of ticks: twelve years of one thread at 3 GHz. Likewise on the total
of a field, in nanoseconds: a profile has no figures of 2^64 or more."""

_SKEW = 1 << 40
"""Ticks that a time may be below zero, as a difference of the clocks of two processors."""

_TIMES = {"waited", "held", "handed_over", "delays_forgiven"}
"""The fields that may be below zero."""

_MOMENTS = {
    *("began", "clock_ns", "clock_ticks", "last_sample", "last_span", "last_stack", "last_usage"),
    *("last_wait", "waiting_since", "first_seen", "hold_begin", "released", "object_since"),
    *("last_wake", "begin_ns"),
}
"""The fields with readings of a clock, which counts from the start of the machine: their total
means nothing, and it is large on a machine that started long ago."""

_TICK_NS = (1e-3, 1e5)
"""Limits on the nanoseconds of a tick, far beyond those of all processors."""


class DamagedRecords(LockwrightError):
    """A profile cannot be made of the records. program_status: that of wait() if the program has
    ended."""

    program_status: int = 0


def check(buffer: Buffer) -> None:
    """Raise DamagedRecords for values that the profiler's library does not write. Values that are
    possible are not distinguished from the right ones."""
    for name, is_damaged in _checks(buffer):
        if is_damaged:
            raise DamagedRecords(
                f"the profiled program has overwritten the profiler's records ({name})",
                "look for its fault with a memory checker such as AddressSanitizer",
            )


def _checks(buffer: Buffer) -> Iterator[tuple[str, bool]]:
    """Yield the names of tables or fields, and whether they have impossible values."""
    least, most = _TICK_NS
    yield "clock", not least <= buffer.nanoseconds <= most
    yield "begin_ticks", int(buffer["begin_ticks"]) > _MOST
    records, stacks, objects = buffer.records, buffer.stacks, buffer["objects"]
    details = buffer.details[: int(buffer["details_used"])]
    for name in ("holding", "waiting", "handing_over", "arrivals"):
        yield f"details.{name}", _exceeds(details[name], _MOST)
    sites, edges = details["sites"], details["wait_edges"]
    for table, rows in (
        ("threads", buffer.threads),
        ("records", records),
        ("sites", sites),
        ("wait_edges", edges),
        ("stacks", stacks),
        ("objects", objects),
        ("waiters", objects["waiters"]),
        ("wakers", objects["wakers"]),
        ("lives", buffer["lives"]),
        ("roles", buffer["roles"]),
    ):
        yield from _amounts(table, rows, buffer.nanoseconds)
    spans = buffer.spans
    yield "spans", _exceeds(spans["begin"], _MOST) or _exceeds(spans["end"], _MOST)
    yield "creations", _exceeds(buffer.creations, _MOST)
    init_sites, init_stacks = buffer.init_sites, buffer["inits"]["stacks"]
    site_bits = np.uint32((1 << constant("init_stack_shift")) - 1)
    for name, numbers, limit in (
        ("detail", records["detail"], len(buffer.details)),
        ("hold_site", records["hold_site"], sites.shape[-1]),
        ("init_site", records["init_site"] & site_bits, len(init_sites)),
        ("holder", edges["holder"], sites.shape[-1]),
        ("waiter", edges["waiter"], sites.shape[-1]),
        ("kind", objects["key"] >> np.uint64(56), constant("wait_object::kinds")),
        ("last_thread", objects["last_thread"], len(buffer["threads"])),
        ("waking", objects["waking"], len(buffer["threads"])),
        ("object", buffer.threads["object"], len(objects)),
        ("awaited", buffer.threads["awaited"]["object"], len(objects)),
        ("awaited", buffer["roles"]["awaited"]["object"], len(objects)),
        ("frames", stacks["frames"], stacks["pcs"].shape[-1]),
        ("frames", init_stacks["frames"], init_stacks["pcs"].shape[-1]),
    ):
        yield name, _exceeds(numbers, limit)


_ADDRESSES = {
    *("address", "first_site", "caller", "releaser", "hash", "waiting_site", "last_caller"),
    *("waiting_behind", "key", "last_waker", "object_caller", "routine"),
}


def _amounts(table: str, rows: NDArray[np.void], nanoseconds: float) -> Iterator[tuple[str, bool]]:
    """Yield whether each field of 64 bits that is a count, a time or a sum exceeds its limit, in a
    row or, where that means something, in total. nanoseconds: of a tick."""
    for name in rows.dtype.names or ():
        if rows.dtype[name] == np.uint64 and name not in _ADDRESSES:
            skew = np.uint64(_SKEW if name in _TIMES else 0)
            yield f"{table}.{name}", _exceeds(rows[name] + skew, _MOST)
            if name not in _MOMENTS:
                total = float(rows[name].astype(np.int64).sum(dtype=np.float64))
                yield f"{table}.{name}", total * max(1.0, nanoseconds) > _MOST


def _exceeds(numbers: NDArray[Any], limit: int) -> bool:
    return bool((numbers > limit).any())
