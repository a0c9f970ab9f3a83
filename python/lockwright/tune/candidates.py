"""The locks of a race: those that the advice recommends, and others in case it is wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockwright.preload.families import family_of, is_usable, representatives
from lockwright.preload.locks import BASELINE, Registry
from lockwright.preload.rwlocks import KEEP, pair_name, parts_of

NAMED, ADVISED, FAMILY = "named", "advised", "family"
"""Reasons why a lock takes part: the user or the advice named it, or it represents its family."""

DIVERSE = 3
"""Number of families whose races show that a program is not lock-sensitive."""


@dataclass(frozen=True)
class Candidate:
    """A lock of a race. why: NAMED, ADVISED or FAMILY; reason: the text for it."""

    lock: str
    why: str
    reason: str


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
        if lock != BASELINE and is_usable(lock, registry)
    ]
    families = {family_of(registry.find(candidate.lock)) for candidate in advised}
    others = []
    for lock in representatives(lock for lock in registry if is_usable(lock.name, registry)):
        if family_of(lock) not in families:
            doubt = "in case the advice is wrong: " if advised else ""
            description = family_of(lock).description
            others.append(
                Candidate(lock.name, FAMILY, f"{doubt}stands for its family: {description}")
            )
    return (*advised, *others[:most])


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
        and is_usable(name, registry)
    )
