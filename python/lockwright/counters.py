"""The file through which a counting library tells what a program did with its locks.

Layout, in native-endian 64-bit words: a header of 8 (magic, processes that loaded the library,
names of the locking API that did not resolve to it), then 64 stripes of 16 counters each, one
stripe per group of threads so that counting adds little contention of its own, then 1,024 counters,
one for each entry of a plan.
"""

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.errors import LockwrightError

VARIABLE = "LOCKWRIGHT_STATS"
_MAGIC = b"LWSTATS3"
_STRIPES = 64
_HEADER = 8
_WORDS = 16
_USED = 11
MOST_ENTRIES = 1024
"""Of a plan, what it says of all other mutexes among them."""
_SIZE = 8 * (_HEADER + _STRIPES * _WORDS + MOST_ENTRIES)


@dataclass(frozen=True)
class Counts:
    """Sums over the process tree.

    processes: that loaded the library; unresolved: names that did not resolve to it (0 is good);
    contended: acquisitions that found the lock held; handed_over: acquisitions of mutexes that
    the C library serves (process-shared, robust, priority); reads, writes: acquisitions of
    reader-writer locks, spins: of spin locks, where they are ours; by_entry: mutexes that got their
    lock from each entry of a plan, of which the first is that of all others.
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

    @property
    def took_a_lock(self) -> bool:
        """Whether any mutex was taken, ours or the C library's, or another lock of ours."""
        return any((self.acquisitions, self.handed_over, self.reads, self.writes, self.spins))


@contextmanager
def counters_file() -> Iterator[Path]:
    """Path of a counters file, all zero, that is removed at the end of the `with` block."""
    # Memory-backed where there is such a place: the pages are written on every acquisition.
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    try:
        handle, name = tempfile.mkstemp(prefix="lockwright-", suffix=".stats", dir=folder)
        try:
            os.write(handle, _MAGIC.ljust(_SIZE, b"\0"))
        finally:
            os.close(handle)
    except OSError as error:
        raise LockwrightError(
            f"cannot create the counters file: {error.strerror}", "make room in /dev/shm or TMPDIR"
        ) from error
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def read(path: Path) -> Counts:
    """What has been counted so far."""
    words = struct.unpack(f"={_SIZE // 8}Q", path.read_bytes()[:_SIZE])
    counters, by_entry = words[_HEADER:-MOST_ENTRIES], words[-MOST_ENTRIES:]
    sums = [sum(counters[i::_WORDS]) for i in range(_USED)]
    return replace(Counts(words[1], words[2], *sums), by_entry=by_entry)


def refuse_unused(counts: Counts, program: str) -> None:
    """Raises LockwrightError if no lock of ours can have served the program."""
    if counts.processes == 0:
        raise LockwrightError(
            f"'{program}' never loaded the lock's library",
            "check that what it starts is dynamically linked and keeps LD_PRELOAD",
        )
    if not counts.took_a_lock:
        raise LockwrightError(
            f"'{program}' took no mutex, so no lock can change how it runs",
            "give it a multi-threaded workload that uses pthread mutexes",
        )
