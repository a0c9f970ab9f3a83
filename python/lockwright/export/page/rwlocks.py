"""The figures of the reader-writer locks of a profile, for rwlocks.html."""

from lockwright.base import numbers
from lockwright.export.page.mutexes import median_and_p99, time_cell
from lockwright.page.rows import Row
from lockwright.profile.record import Profile, RwLock

ROWS = 100
"""Number of reader-writer locks in the table."""

COLUMNS = (
    "reader-writer lock",
    "side",
    "time lost",
    "acquisitions",
    "share",
    "contended",
    "wait p50",
    "wait p99",
    "hold p50",
    "hold p99",
    "waits most in",
    "while held by",
)


def rows(profile: Profile) -> list[Row]:
    """Return two rows for each reader-writer lock, up to ROWS of these."""
    return [row for each in profile.rwlocks[:ROWS] for row in _rows(each)]


def _rows(rwlock: RwLock) -> list[Row]:
    name = rwlock.name if rwlock.instances == 1 else f"{rwlock.name} (x{rwlock.instances:,})"
    found = []
    for side in (rwlock.readers, rwlock.writers):
        share = side.acquisitions / rwlock.acquisitions if rwlock.acquisitions else 0.0
        waiter = max(side.sites, key=lambda site: site.waited, default=None)
        block = max(side.blocks, key=lambda edge: edge.waited, default=None)
        waits_in = waiter.label if waiter is not None and waiter.waited else ""
        held_by = side.holder(block) if block is not None else ""
        found.append(
            Row(
                [
                    (name, name),
                    (side.type, side.type),
                    time_cell(side.lost, bool(side.contended)),
                    (numbers.count(side.acquisitions), repr(side.acquisitions)),
                    (numbers.share(share), repr(share)),
                    (numbers.share(side.contended_share), repr(side.contended_share)),
                    *median_and_p99(side.waiting),
                    *median_and_p99(side.holding),
                    (waits_in, waits_in),
                    (held_by, held_by),
                ]
            )
        )
    return found
