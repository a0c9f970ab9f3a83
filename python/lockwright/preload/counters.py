"""The counters file, which a counting library fills with a program's lock operations.

Its layout is in src/preload/stats_page.hpp: counts of processes, counters in stripes (one for each
group of threads, against contention), and a counter for each entry of a plan.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.preload import loads
from lockwright.preload.layouts import layouts

VARIABLE = "LOCKWRIGHT_STATS"
_PAGE = "stats_page"
_EVENTS = {
    "mutexes": "mutex_used",
    "acquisitions": "acquired",
    "contended": "contended",
    "cond_waits": "cond_waited",
    "failed_trylocks": "trylock_failed",
    "futex_waits": "futex_wait",
    "futex_wakes": "futex_wake",
    "handed_over": "left_to_library",
    "reads": "read_locked",
    "writes": "write_locked",
    "spins": "spin_locked",
    "rwlocks": "rwlock_left",
}
"""The event of the library for each count."""


@dataclass(frozen=True)
class Counts:
    """Sums over the process tree.

    processes: those in which the library was loaded, forked ones included; unresolved: names that
    did not resolve to it (0 is good); contended: acquisitions that found the lock held;
    handed_over: acquisitions of mutexes that the C library serves (process-shared, robust,
    priority); reads, writes, spins: acquisitions of reader-writer locks and spin locks that
    Lockwright implements; rwlocks: those of reader-writer locks that the C library serves;
    by_entry: mutexes of each entry of a plan, first those without an entry; loaded: the programs,
    by process id, that loaded the library first.
    """

    processes: int
    unresolved: int
    mutexes: int
    acquisitions: int
    contended: int
    cond_waits: int
    failed_trylocks: int
    futex_waits: int
    futex_wakes: int
    handed_over: int
    reads: int = 0
    writes: int = 0
    spins: int = 0
    rwlocks: int = 0
    by_entry: tuple[int, ...] = ()
    loaded: Mapping[int, str] = field(default_factory=dict)

    @property
    def taken(self) -> int:
        """Acquisitions of all locks, also by the C library."""
        return self.acquisitions + self.handed_over + self.reads + self.writes + self.spins

    @property
    def took_a_lock(self) -> bool:
        """True if any lock was taken."""
        return self.taken > 0


@contextmanager
def counters_file() -> Iterator[Path]:
    """Create a counters file of zeros, yield its path, and remove it at the end of the block."""
    with layouts().new_file(_PAGE, b"LWSTATS", "the counters file") as path:
        yield path


def max_entries() -> int:
    """Return the largest number of entries of a plan, the default entry included."""
    return layouts().field(_PAGE, "chosen").count


def read(path: Path) -> Counts:
    """Return the counts so far. Raises LockwrightError if the library has another layout."""
    layout, data = layouts(), path.read_bytes()
    if len(data) < layout.structs[_PAGE].bytes:
        raise LockwrightError(f"{path} was cut short by the program", "run it again")
    layout.check(_PAGE, data)
    page = layout.values(_PAGE, data)
    words = layout.constants["stats_page::words"]
    return Counts(
        page["processes"],
        page["unresolved"],
        **{
            name: sum(page["of"][layout.constants[f"event::{event}"] :: words])
            for name, event in _EVENTS.items()
        },
        by_entry=page["chosen"],
        loaded=loads.programs(page["loaded"]["of"]),
    )


def why_unused(
    counts: Counts, program: str, ended: loads.Ended | None, unseen: loads.Unseen | None = None
) -> LockwrightError | None:
    """Return an error if the program used no lock of Lockwright, else None. ended: the started
    process after its end, unseen: a program that could not report, if known."""
    if counts.took_a_lock:
        return None
    if counts.processes == 0:
        return LockwrightError(
            f"'{program}' never loaded the lock's library",
            "check that it starts a dynamically linked program and keeps LD_PRELOAD",
        )
    if ended is not None and (became := loads.without_library(counts.loaded, ended)):
        if unseen is not None and unseen.has_library and unseen.program == became:
            return LockwrightError(f"'{program}' took no mutex; {unseen.fault}", unseen.advice)
        return LockwrightError(
            f"'{program}' became '{became}', which did not load the lock's library or could not "
            "open the counters",
            loads.ADVICE,
        )
    if unseen is None and ended is not None and ended.had_children and counts.processes == 1:
        unseen = loads.Unseen("")
    if unseen is not None:
        return LockwrightError(f"'{program}' itself took no mutex; {unseen.fault}", unseen.advice)
    if counts.rwlocks:
        return LockwrightError(
            f"'{program}' took no mutex, but reader-writer locks {counts.rwlocks:,} times",
            "replace these with --rwlock; see 'lockwright list --reader-writer'",
        )
    advice = "give it a multi-threaded workload that uses pthread mutexes"
    if ended is not None and ended.had_children:
        advice += "; a program that it starts counts only if it keeps LD_PRELOAD and sees /dev/shm"
    return LockwrightError(f"'{program}' took no mutex, so no lock can change how it runs", advice)
