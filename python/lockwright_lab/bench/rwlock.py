"""Readers and writers of one reader-writer lock, under each of them."""

from lockwright.experiment import Contender, Summary
from lockwright.preload import locks
from lockwright.preload.rwlocks import KEEP, MUTEX, rwlocks
from lockwright.run.bench_program import LIBC, Subject

from lockwright_lab.bench.measurement import Given, Measurement


def _size(row: Summary) -> str:
    lock = rwlocks().get(row.contender)
    return f"{lock.bytes_in_place}+{lock.bytes_per_lock_outside}" if lock else "-"


def _contenders(given: Given) -> list[Contender]:
    """Return `libc`, then `keep`, `mutex` and reader-writer locks, all or the named ones. Raises
    LockwrightError for unknown names."""
    named, mutex = given.own["rwlocks"], given.own["lock"]
    names = [word.strip() for word in named.split(",") if word.strip()] if named else []
    registry = locks.registry()
    chosen = [Contender(LIBC, subject=Subject(LIBC))]
    for name in names or (KEEP, MUTEX, *rwlocks()):
        if name != LIBC:
            locks.check_replacement("--rwlocks", locks.RWLOCK, name)
            library = Subject(name, registry.path_of(mutex), lock=registry.find(mutex))
            chosen.append(Contender(name, {locks.RWLOCK: name}, library))
    return chosen


RWLOCK = Measurement("rwlock", {"bytes": _size}, contenders=_contenders)
