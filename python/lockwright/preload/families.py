"""Families of locks of similar performance, and a lock that stands for each."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, RWLOCK, Lock, Registry
from lockwright.preload.rwlocks import DEFAULT

_FIRST = 3
"""The last rank that counts as one of the first to try."""


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


def usual_locks(registry: Registry) -> tuple[str, ...]:
    """Return the baseline, the default and one lock of each other family. A reader-writer lock in
    the environment takes the place of the default's."""
    usable = [lock for lock in registry if is_usable(lock.name, registry)]
    default = [lock for lock in usable if lock.is_default]
    families = {family_of(lock) for lock in default}
    others = [lock for lock in representatives(usable) if family_of(lock) not in families]
    names = [lock.name if os.environ.get(RWLOCK) else DEFAULT for lock in default]
    return (BASELINE, *names, *(lock.name for lock in others))


def is_usable(lock: str, registry: Registry) -> bool:
    """Return whether the environment variables admit the lock: a large one cannot replace
    pthread_spinlock_t."""
    try:
        registry.check_environment(lock, os.environ)
    except LockwrightError:
        return False
    return True
