"""The locks of a race: those that the advice recommends, and others in case it is wrong."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, Lock, Registry

NAMED, ADVISED, FAMILY = "named", "advised", "family"
"""Why a lock takes part: the user or the advice named it, or it represents its family."""

DIVERSE = 3
"""Number of families whose races show that a program is not lock-sensitive."""

_FIRST = 3
"""Ranks up to this count as the first to try."""


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


def advised_candidates(
    shortlist: Sequence[tuple[str, str]], known: Registry, most: int | None = None
) -> tuple[Candidate, ...]:
    """Return the locks of a shortlist, with reasons, and one lock of each family without one there.

    most: the largest number of these others.
    """
    chosen = [
        Candidate(lock, ADVISED, reason)
        for lock, reason in shortlist
        if lock != BASELINE and _is_usable(lock, known)
    ]
    families = {family_of(known.find(each.lock)) for each in chosen}
    others = []
    for lock in representatives(lock for lock in known if _is_usable(lock.name, known)):
        if family_of(lock) not in families:
            doubt = "in case the advice is wrong: " if chosen else ""
            description = family_of(lock).description
            others.append(Candidate(lock.name, FAMILY, f"{doubt}one of its family, {description}"))
    return (*chosen, *others[:most])


def representatives(locks: Iterable[Lock]) -> list[Lock]:
    """Return one lock of each family: of those that survive over-subscription, if any, the lock
    with the most use cases in which it is among the first to try; then the smaller, then the first
    in the registry. Families that park come first, then categories in the registry's order."""
    known = [lock for lock in locks if lock.name != BASELINE]
    categories = list(dict.fromkeys(lock.category for lock in known))
    chosen: dict[Family, Lock] = {}
    for lock in sorted(known, key=_sort_key):
        chosen.setdefault(family_of(lock), lock)
    return sorted(
        chosen.values(),
        key=lambda lock: (not lock.parking, categories.index(lock.category), lock.yields),
    )


def _sort_key(lock: Lock) -> tuple[object, ...]:
    first = sorted(each.rank for each in lock.suits if each.rank <= _FIRST)
    size = (lock.bytes_per_mutex_outside, lock.bytes_per_node)
    return not lock.survives_oversubscription, -len(first), first, size


def other_family_members(locks: Iterable[str], known: Registry) -> tuple[str, ...]:
    """Return all other locks of the families of `locks`, which perform alike within some per
    cent."""
    chosen = {BASELINE, *locks}
    families = {family_of(known.find(lock)) for lock in chosen}
    return tuple(
        name
        for name in known.names
        if name not in chosen
        and family_of(known.find(name)) in families
        and _is_usable(name, known)
    )


def _is_usable(lock: str, known: Registry) -> bool:
    """Return whether the environment variables admit the lock: a large one cannot replace
    pthread_spinlock_t."""
    try:
        known.check_environment(lock, os.environ)
    except LockwrightError:
        return False
    return True
