"""The file through which a counting library tells what a program did with its locks.

Layout, in native-endian 64-bit words: a header of 8 (magic, processes that loaded the library,
names of the locking API that did not resolve to it), then 64 stripes of 16 counters each, one
stripe per group of threads so that counting adds little contention of its own, then 1,024 counters,
one for each entry of a plan, then the first processes that loaded the library (`loads.py`).
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.base.shared_files import shared_files
from lockwright.preload import loads

VARIABLE = "LOCKWRIGHT_STATS"
_MAGIC = b"LWSTATS4"
_STRIPES = 64
_HEADER = 8
_WORDS = 16
_USED = 11
MOST_ENTRIES = 1024
"""Of a plan, what it says of all other mutexes among them."""
_COUNTERS = 8 * (_HEADER + _STRIPES * _WORDS + MOST_ENTRIES)
_SIZE = _COUNTERS + loads.SIZE


@dataclass(frozen=True)
class Counts:
    """Sums over the process tree.

    processes: that loaded the library; unresolved: names that did not resolve to it (0 is good);
    contended: acquisitions that found the lock held; handed_over: acquisitions of mutexes that
    the C library serves (process-shared, robust, priority); reads, writes: acquisitions of
    reader-writer locks, spins: of spin locks, where they are ours; by_entry: mutexes that got their
    lock from each entry of a plan, of which the first is that of all others; loaded: the first
    processes that loaded the library, by their numbers, and the program that each was then.
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
    by_entry: tuple[int, ...] = ()
    loaded: Mapping[int, str] = field(default_factory=dict)

    @property
    def took_a_lock(self) -> bool:
        """Whether any mutex was taken, ours or the C library's, or another lock of ours."""
        return any((self.acquisitions, self.handed_over, self.reads, self.writes, self.spins))


@contextmanager
def counters_file() -> Iterator[Path]:
    """Path of a counters file, all zero, that is removed at the end of the `with` block."""
    with shared_files(_SIZE, "the counters file") as path:
        with path.open("r+b") as file:
            file.write(_MAGIC)
        yield path


def read(path: Path) -> Counts:
    """What has been counted so far."""
    data = path.read_bytes()[:_SIZE]
    words = struct.unpack_from(f"={_COUNTERS // 8}Q", data)
    counters, by_entry = words[_HEADER:-MOST_ENTRIES], words[-MOST_ENTRIES:]
    sums = [sum(counters[i::_WORDS]) for i in range(_USED)]
    loaded = loads.read(data[_COUNTERS:])
    return replace(Counts(words[1], words[2], *sums), by_entry=by_entry, loaded=loaded)


def why_unused(counts: Counts, program: str, ended: loads.Ended | None) -> LockwrightError | None:
    """Why no lock of ours can have served the program; None if one has.

    ended: the process that was started, when it had ended, if that is known.
    """
    if counts.took_a_lock:
        return None
    if counts.processes == 0:
        return LockwrightError(
            f"'{program}' never loaded the lock's library",
            "check that what it starts is dynamically linked and keeps LD_PRELOAD",
        )
    if ended is not None and (became := loads.without_library(counts.loaded, ended)):
        return LockwrightError(
            f"'{program}' became '{became}', which did not load the lock's library or could not "
            "open the counters",
            loads.ADVICE,
        )
    return LockwrightError(
        f"'{program}' took no mutex, so no lock can change how it runs",
        "give it a multi-threaded workload that uses pthread mutexes",
    )
