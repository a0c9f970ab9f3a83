"""Changes for locks that are not the C library's mutexes, so that no other lock replaces them:
those that other libraries make of futexes, and those inside the C library. A profile has the waits
for them, not the sections."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.advise import lock_users, thresholds
from lockwright.advise.advice import Change, Evidence
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.base import numbers
from lockwright.profile.function_names import brief
from lockwright.profile.sampled_names import C_LIBRARY
from lockwright.profile.waiting import WaitObject, WaitSite

SAMPLES = 5
"""Least number of samples that found a waiter, where nothing else is known: the time of fewer may
be off by half."""

FOR_WORK = 50_000_000
"""Longest mean wait in ns for a lock whose sections are short: even a holder that lost its
processor gets it back sooner. A thread that waits longer waits for work, or for a device."""

_AMBIGUOUS = frozenset({"CPython", "PostgreSQL"})
"""Libraries whose functions for locks are also those by which threads wait for work."""

_STREAMS = re.compile(r"_IO_\w+|v?f?(puts|printf|write|read|flush|getc|putc)(_unlocked)?|getline")
_C_FUNCTION = re.compile(r"lock in (.+)")

ALLOCATOR = (
    "Threads wait for the memory allocator: give each a cache and arenas of its own"
    " (glibc.malloc.tcache_count and arena_max, MALLOC_CONF=tcache:true,narenas:N), or an allocator"
    " that has them ('lockwright compare --allocator' measures it), and keep blocks for reuse."
)


@dataclass(frozen=True)
class OtherLocks:
    """The advice on such locks. sentence: empty if there is nothing to say; waited: ns, for the one
    that costs most."""

    sentence: str = ""
    changes: tuple[Change, ...] = ()
    waited: float = 0.0


def advise_on_other_locks(figures: ProfileFigures) -> OtherLocks:
    """Return a change for each such lock that costs a relevant share of the time."""
    found = []
    for index, lock in enumerate(figures.profile.waits):
        if lock.kind == "lock" and lock.library not in _AMBIGUOUS:
            evidence = _cost(figures, lock)
            if all_met(evidence):
                found.append((lock, _change(index, lock, evidence)))
    if not found:
        return OtherLocks()
    worst = found[0][0]
    share = numbers.share(figures.other_lost_share_of(worst.waited))
    whose = f"{'the ' * (worst.library == C_LIBRARY)}{worst.library}: " if worst.library else ""
    sentence = (
        f"Threads lost {share} of the time in which they ran or waited for {whose}{worst.name}."
        " No other lock replaces it."
    )
    return OtherLocks(sentence, tuple(change for _, change in found), worst.waited)


def _cost(figures: ProfileFigures, lock: WaitObject) -> tuple[Evidence, ...]:
    lost = at_least(
        "time lost waiting for it, of that in which threads ran or waited for locks",
        figures.other_lost_share_of(lock.waited),
        thresholds.LOST,
        "share",
        "it counts",
    )
    if lock.samples:
        seen = at_least(
            "samples that found a waiter", lock.samples, SAMPLES, "", "fewer may be chance"
        )
        return (lost, seen)
    source = "longer is a wait for work"
    return (lost, at_most("wait, on average", lock.mean, FOR_WORK, "ns", source))


def _change(index: int, lock: WaitObject, evidence: tuple[Evidence, ...]) -> Change:
    users = len(_users(lock))
    kind, text = _advised(lock, users)
    places = informs("functions that take or release it", float(users), "")
    return Change(kind, None, text, (*evidence, places), wait=index)


def _users(lock: WaitObject) -> set[str]:
    """Return the functions that take or release a lock. One that calls a function that takes it is
    no other: an unlock may be inlined into it."""
    takers = lock_users.users([(site, site.waited) for site in lock.waiters])
    releasers = lock_users.users([(site, site.waited) for site in lock.wakers])
    callers = {lock_users.name(frame) for site in lock.waiters for frame in site.stack}
    return {*takers, *(each for each in releasers if each not in callers)}


def _advised(lock: WaitObject, users: int) -> tuple[str, str]:
    """Return the kind and the text of the change for a lock. users: functions that use it."""
    if lock.library == "jemalloc" or any(map(lock_users.allocates, lock.waiters[:1])):
        return "allocator", ALLOCATOR
    if lock.library == C_LIBRARY:
        return _inside_c_library(lock)
    where = lock.waiter or "there"
    if writes := _writes(lock.waiters):
        return "reader-writer lock", writes
    if users <= 1:
        return "atomic", (
            f"Only {where} takes it. If that updates a counter or a single word, make it atomic and"
            " drop the lock; if it looks up or changes a table, divide that by a hash of the key."
        )
    return "sharding", (
        f"Several functions take it, most often {where}. Give each thread or each part of the data"
        " one of its own, for instance a pool or cache for each thread, or parts by a hash."
    )


def _inside_c_library(lock: WaitObject) -> tuple[str, str]:
    match = _C_FUNCTION.fullmatch(lock.name)
    called = match[1] if match else "its functions"
    caller = f", which {lock.waiter} calls," if lock.waiter else ""
    if _STREAMS.fullmatch(called):
        return "batch", (
            f"The stream that {called}{caller} uses has one lock: collect what each thread writes"
            " in a buffer of its own, and write it in large blocks."
        )
    return "per thread", (
        f"{called}{caller} takes one lock for the whole process: keep its results, or what it"
        " computes them from, in each thread, or use functions that need no common state."
    )


_EXCLUSIVE = re.compile(
    r"(?i).*(rw_?lock|shared_?mutex).*(write|exclusive).*|.*\blockForWrite|QWriteL.*"
)


def _writes(waiters: Sequence[WaitSite]) -> str:
    """Return the advice on a reader-writer lock for which some readers wait, but mostly writers; ""
    for others. One that is only written is used as a mutex is."""
    waited = sum(site.waited for site in waiters)
    of_writers = [
        site
        for site in waiters
        if any(_EXCLUSIVE.match(brief(frame.symbol)) for frame in site.stack[: site.wrappers])
    ]
    share = sum(site.waited for site in of_writers) / waited if waited else 0.0
    if not 0.5 <= share < 1:
        return ""
    return (
        f"Most wait for it to write, in {of_writers[0].label}: where that mostly finds nothing to"
        " change, take it for reading first, and for writing only to change something."
    )
