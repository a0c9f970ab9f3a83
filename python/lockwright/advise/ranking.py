"""The ranking of the locks that the steps leave, by the papers' results."""

from collections.abc import Iterable
from typing import TypeVar

from lockwright.advise.advice import Candidate
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.preload.locks import BASELINE, Lock
from lockwright.preload.rwlocks import RwLock

_L = TypeVar("_L", Lock, RwLock)

CHANGES = 0.001
"""Share of a mutex's acquisitions after another thread held it, below which the mutex counts as
private to one thread."""

MOST = 0.9
"""Least share of private mutexes in all acquisitions of a program that has private mutexes."""


def shortlist(
    figures: ProfileFigures,
    left: Iterable[Lock],
    fired: Iterable[str],
    level: str,
    nodes: int | None,
    size: int,
) -> tuple[Candidate, ...]:
    """Return the best `size` of the locks, without the baseline: by their rank in the most
    important use case, then in the next, then by size, the smallest first."""
    candidates = [lock for lock in left if lock.name != BASELINE]
    # Locks that state nothing on a use case stay sorted by size.
    candidates.sort(key=lambda lock: (lock.bytes_per_mutex_outside, lock.bytes_per_node))
    reasons: dict[str, str] = {}
    for case in _cases(figures, set(fired), level, nodes):
        for lock, why in ranked(candidates, case):
            reasons.setdefault(lock.name, why)
    for lock in candidates:
        reasons.setdefault(
            lock.name, "satisfies the steps; nothing more is known of it for this use case"
        )
    survives = {lock.name: lock.survives_oversubscription for lock in candidates}
    return tuple(Candidate(name, why, survives[name]) for name, why in list(reasons.items())[:size])


def ranked(locks: Iterable[_L], case: str) -> list[tuple[_L, str]]:
    """Return the locks that are recommended for a use case, each with the reason: by their rank,
    and of equal rank in the order in which they are given."""
    stated = [(lock, each) for lock in locks for each in lock.use_cases if each.case == case]
    stated.sort(key=lambda pair: pair[1].rank)
    return [(lock, suitability.why) for lock, suitability in stated]


def _cases(
    figures: ProfileFigures, fired: set[str], level: str, nodes: int | None
) -> Iterable[str]:
    """Yield the use cases, by their names in the registry, the most important first."""
    if figures.crowded:
        yield "crowded"
    if "trylock" in fired:
        yield "trylock loop"
    if "memory contention" in fired:
        yield "memory contention"
    if level == "extreme" and nodes != 1:
        yield "extreme contention"
    if level != "low":
        yield "high contention"
        yield "extreme contention"
    if level == "low" and _private(figures):
        yield "private mutexes"
    yield "low contention"


def _private(figures: ProfileFigures) -> bool:
    """Return whether most acquisitions are of mutexes that one thread uses at a time."""
    total = sum(mutex.acquisitions for mutex in figures.mutexes)
    private = sum(mutex.acquisitions for mutex in figures.mutexes if mutex.owner_changes < CHANGES)
    return total > 0 and private >= MOST * total
