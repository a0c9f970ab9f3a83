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
"""Limit on counts and on sums of ticks: twelve years of one thread at 3 GHz."""

_SKEW = 1 << 40
"""Ticks that a sum may be below zero."""

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
    threads, records = buffer.threads, buffer.records
    yield from _amounts("threads", threads)
    yield from _amounts("records", records)
    details = buffer.details[: int(buffer["details_used"])]
    for name in ("holding", "waiting", "handing_over", "arrivals"):
        yield f"details.{name}", _exceeds(details[name], _MOST)
    sites, edges = details["sites"], details["wait_edges"]
    yield from _amounts("sites", sites)
    yield from _amounts("wait_edges", edges)
    stacks = buffer.stacks
    yield from _amounts("stacks", stacks)
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
        ("frames", stacks["frames"], stacks["pcs"].shape[-1]),
        ("frames", init_stacks["frames"], init_stacks["pcs"].shape[-1]),
    ):
        yield name, _exceeds(numbers, limit)


_ADDRESSES = {"address", "first_site", "caller", "releaser", "hash", "waiting_site", "last_caller"}


def _amounts(table: str, rows: NDArray[np.void]) -> Iterator[tuple[str, bool]]:
    """Yield whether each field of 64 bits that is a count, a time or a sum exceeds its limit."""
    for name in rows.dtype.names or ():
        if rows.dtype[name] == np.uint64 and name not in _ADDRESSES:
            # A sum of differences of the clocks of two processors may be below zero.
            yield f"{table}.{name}", _exceeds(rows[name] + np.uint64(_SKEW), _MOST)


def _exceeds(numbers: NDArray[Any], limit: int) -> bool:
    return bool((numbers > limit).any())
