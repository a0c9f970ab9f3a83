"""The locks of a race: those that the advice recommends, and others in case it is wrong."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, Lock, Registry
from lockwright.preload.rwlocks import KEEP, pair_name, parts_of

NAMED, ADVISED, FAMILY = "named", "advised", "family"
"""Reasons why a lock takes part: the user or the advice named it, or it represents its family."""

DIVERSE = 3
"""Number of families whose races show that a program is not lock-sensitive."""

_FIRST = 3
"""The last rank that counts as one of the first to try."""


@dataclass(frozen=True)
class Candidate:
    """A lock of a race. why: NAMED, ADVISED or FAMILY; reason: the text for it."""

    lock: str
    why: str
    reason: str


class Family(NamedTuple):
    """The traits that locks of similar performance have in common."""

    category: str
    parking: bool
    yielding: bool

    @property
    def description(self) -> str:
        """The traits in words."""
        waiting = "park" if self.parking else "spin"
        return f"{self.category} whose waiters {'yield, then ' if self.yielding else ''}{waiting}"


def family_of(lock: Lock) -> Family:
    """Return the family of a lock."""
    return Family(lock.category, lock.parking, lock.yields)


def named_candidates(locks: Iterable[str]) -> tuple[Candidate, ...]:
    """Return the locks that the user named, as candidates."""
    return tuple(Candidate(lock, NAMED, "named by --locks") for lock in locks if lock != BASELINE)


def rwlock_candidates(shortlist: Iterable[tuple[str, str]], why: str) -> tuple[Candidate, ...]:
    """Return the C library's mutex together with each reader-writer lock of a shortlist of names
    and reasons."""
    return tuple(
        Candidate(pair_name(BASELINE, rwlock), why, reason)
        for rwlock, reason in shortlist
        if rwlock != KEEP
    )


def pairs(names: Iterable[str]) -> tuple[str, ...]:
    """Return each other lock of the candidates together with each of their reader-writer locks."""
    parts = [parts_of(name) for name in names]
    locks = dict.fromkeys(lock for lock, _ in parts if lock != BASELINE)
    rwlocks = dict.fromkeys(rwlock for _, rwlock in parts if rwlock != KEEP)
    return tuple(pair_name(lock, rwlock) for lock in locks for rwlock in rwlocks)


def advised_candidates(
    shortlist: Sequence[tuple[str, str]], registry: Registry, most: int | None = None
) -> tuple[Candidate, ...]:
    """Return the locks of a shortlist, with reasons, and one lock of each family without one there.
    most: the largest number of these others."""
    advised = [
        Candidate(lock, ADVISED, reason)
        for lock, reason in shortlist
        if lock != BASELINE and _is_usable(lock, registry)
    ]
    families = {family_of(registry.find(candidate.lock)) for candidate in advised}
    others = []
    for lock in representatives(lock for lock in registry if _is_usable(lock.name, registry)):
        if family_of(lock) not in families:
            doubt = "in case the advice is wrong: " if advised else ""
            description = family_of(lock).description
            others.append(
                Candidate(lock.name, FAMILY, f"{doubt}stands for its family: {description}")
            )
    return (*advised, *others[:most])


def representatives(locks: Iterable[Lock]) -> list[Lock]:
    """Return one lock of each family: one that survives over-subscription, if any; among these,
    that with the most use cases in which it is among the first to try, then the smallest. Families
    that park come first, then categories in the registry's order."""
    candidates = [lock for lock in locks if lock.name != BASELINE]
    categories = list(dict.fromkeys(lock.category for lock in candidates))
    by_family: dict[Family, Lock] = {}
    for lock in sorted(candidates, key=_sort_key):
        by_family.setdefault(family_of(lock), lock)
    return sorted(
        by_family.values(),
        key=lambda lock: (not lock.parking, categories.index(lock.category), lock.yields),
    )


def _sort_key(lock: Lock) -> tuple[object, ...]:
    first = sorted(case.rank for case in lock.suits if case.rank <= _FIRST)
    size = (lock.bytes_per_mutex_outside, lock.bytes_per_node)
    return not lock.survives_oversubscription, -len(first), first, size


def other_family_members(locks: Iterable[str], registry: Registry) -> tuple[str, ...]:
    """Return all other locks of the families of `locks`, which perform alike within some per
    cent."""
    chosen = {BASELINE, *(lock for lock, rwlock in map(parts_of, locks) if rwlock == KEEP)}
    families = {family_of(registry.find(lock)) for lock in chosen}
    return tuple(
        name
        for name in registry.names
        if name not in chosen
        and family_of(registry.find(name)) in families
        and _is_usable(name, registry)
    )


def _is_usable(lock: str, registry: Registry) -> bool:
    """Return whether the environment variables admit the lock: a large one cannot replace
    pthread_spinlock_t."""
    try:
        registry.check_environment(lock, os.environ)
    except LockwrightError:
        return False
    return True
