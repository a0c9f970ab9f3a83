"""The lock to recommend among those that are tied: the one that can do the least harm elsewhere."""

from collections.abc import Mapping, Sequence

from lockwright.base import wording
from lockwright.base.errors import LockwrightError
from lockwright.compare import arms
from lockwright.experiment import Summary
from lockwright.preload import locks
from lockwright.preload.locks import BASELINE, Lock
from lockwright.preload.rwlocks import RwLock, parts_of, rwlocks
from lockwright.stats.inference import paired_ratio
from lockwright.stats.near import NEAR

Locks = Mapping[str, Lock]


def known_locks() -> Locks:
    """Return the locks of the build by name; none if there is no build."""
    try:
        return {lock.name: lock for lock in locks.registry()}
    except LockwrightError:
        return {}


def tied_with(best: Summary, rows: Sequence[Summary], lower_is_better: bool) -> list[Summary]:
    """Return the other locks that are near the best (is_near) and not shown to be worse than it by
    the rounds of both. rows: of one number of threads, of which complete ones have a value for each
    round."""
    return [
        row
        for row in rows
        if row.complete
        and row.contender not in (BASELINE, best.contender)
        and is_near(row, best)
        and not _is_worse(row, best, lower_is_better)
    ]


def is_near(row: Summary, best: Summary) -> bool:
    """Return whether a lock has at least NEAR of the best lock's ratio, and is shown to be better
    than the baseline if the best one is."""
    if row.ratio is None or best.ratio is None:
        return False
    is_shown = row.ratio.better or not best.ratio.better
    return is_shown and row.ratio.value >= NEAR * best.ratio.value


def _is_worse(row: Summary, best: Summary, lower_is_better: bool) -> bool:
    if len(row.values) != len(best.values):
        return False
    ratio = paired_ratio(row.values, best.values, lower_is_better)
    return ratio is not None and ratio.high is not None and ratio.high < 1


def safest(best: Summary, tied: Sequence[Summary], known: Locks) -> Summary:
    """Return the safest of the tied locks and the best one, which precedes equally safe ones."""
    return min(
        (best, *tied),
        key=lambda row: (
            arms.number_of_settings(row.contender),
            *rank(lock_of(row, known)),
            *rwlock_rank(rwlock_of(row)),
        ),
    )


def lock_of(row: Summary, known: Locks) -> Lock | None:
    """Return the lock of a row, or of its pair with a reader-writer lock."""
    return known.get(parts_of(arms.lock_of(row.contender))[0])


def rwlock_of(row: Summary) -> RwLock | None:
    """Return the reader-writer lock of a row; None if it is the C library's or not known."""
    try:
        return rwlocks().get(parts_of(arms.lock_of(row.contender))[1])
    except LockwrightError:
        return None


def rwlock_rank(rwlock: RwLock | None) -> tuple[bool | int, ...]:
    """Return a sort key like `rank`."""
    if rwlock is None:
        return (False,)
    return (
        _passes_on(rwlock),
        not rwlock.parking,
        rwlock.bytes_per_lock_outside,
        rwlock.bytes_per_node,
    )


def _passes_on(rwlock: RwLock) -> bool:
    """Return whether an unlock passes the lock to the next waiter, even if it has no processor;
    docs/rwlocks.md has measurements with more threads than processors."""
    return rwlock.preference == "FIFO"


def rank(lock: Lock | None) -> tuple[bool | int, ...]:
    """Return a sort key, the safest first. Waiters that park leave the processor to the holder, the
    default lock is meant for every load, under a fair lock no waiter starves, and memory outside
    the mutex can run out."""
    if lock is None:
        return (True,)
    return (
        not lock.survives_oversubscription,
        not lock.parking,
        not lock.is_default,
        not lock.fifo,
        lock.bytes_per_mutex_outside,
        lock.bytes_per_node,
    )


def reason(chosen: Summary, best: Summary, tied: Sequence[Summary], known: Locks) -> str:
    """Return a sentence on why the chosen lock is recommended in place of the best; "" if it is the
    best. tied: as of `tied_with`."""
    lock, rwlock = lock_of(chosen, known), rwlock_of(chosen)
    if lock is None or chosen is best:
        return ""
    traits = _traits(lock) if rwlock is None else _rwlock_traits(rwlock)
    if len(tied) == 1:
        return f"Not shown to be worse is {chosen.contender}, which is safer: {traits}"
    named = wording.together([row.contender for row in tied])
    return f"Not shown to be worse are {named}; {chosen.contender} is the safest of these: {traits}"


def _traits(lock: Lock) -> str:
    words = [
        "its waiters park" if lock.parking else "",
        "it is the default lock" if lock.is_default else "",
        "it is fair (FIFO)" if lock.fifo else "",
        "it needs no memory outside the mutex" if not lock.bytes_per_mutex_outside else "",
    ]
    return ", ".join(word for word in words if word) or "it has the least memory"


def _rwlock_traits(rwlock: RwLock) -> str:
    words = [
        "its waiters park" if rwlock.parking else "",
        "it needs no memory outside the lock" if not rwlock.bytes_per_lock_outside else "",
    ]
    return ", ".join(word for word in words if word) or "it has the least memory"


def caution(chosen: Summary, known: Locks) -> str:
    """Return a sentence on what happens to the recommended lock with more threads than processors;
    "" if it is made for that, or its traits are not known."""
    lock, rwlock = lock_of(chosen, known), rwlock_of(chosen)
    if rwlock is not None and _passes_on(rwlock):
        return (
            f"With more threads than processors {chosen.contender} may lose most of its throughput:"
            " it is passed to waiters that have no processor"
        )
    if lock is None or lock.survives_oversubscription:
        return ""
    return (
        f"With more threads than processors {chosen.contender} may lose most of its throughput: its"
        " waiters spin while the holder has no processor"
    )
