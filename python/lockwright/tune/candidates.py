"""The locks that take part in a race: who is recommended, and who joins in case that is wrong."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, Lock, Registry

NAMED, ADVISED, HEDGE = "named", "advised", "hedge"
"""Why a lock takes part: the user named it, the advice did, or as one of its family."""

DIVERSE = 3
"""How many families prove that a program is not lock-sensitive."""

_FIRST = 3
"""Ranks up to this are among the first to try."""


@dataclass(frozen=True)
class Entrant:
    """A lock of a race. why: NAMED, ADVISED or HEDGE; reason: in words."""

    lock: str
    why: str
    reason: str


class Family(NamedTuple):
    """What locks have in common that run alike."""

    category: str
    parking: bool
    yielding: bool

    @property
    def described(self) -> str:
        """In words."""
        waits = "sleep" if self.parking else "spin"
        return f"{self.category} whose waiters {'yield, then ' if self.yielding else ''}{waits}"


def family(lock: Lock) -> Family:
    """That of a lock."""
    return Family(lock.category, lock.parking, lock.yields)


def named(locks: Iterable[str]) -> tuple[Entrant, ...]:
    """Locks that the user asks for."""
    return tuple(Entrant(lock, NAMED, "named by --locks") for lock in locks if lock != BASELINE)


def advised(
    shortlist: Sequence[tuple[str, str]], known: Registry, most: int | None = None
) -> tuple[Entrant, ...]:
    """The locks of a shortlist, with reasons, and one of each family that has none there.

    most: how many of these others, at most.
    """
    chosen = [
        Entrant(lock, ADVISED, reason)
        for lock, reason in shortlist
        if lock != BASELINE and _possible(lock, known)
    ]
    families = {family(known.find(each.lock)) for each in chosen}
    hedges = []
    for lock in representatives(lock for lock in known if _possible(lock.name, known)):
        if family(lock) not in families:
            doubt = "in case the advice is wrong: " if chosen else ""
            described = family(lock).described
            hedges.append(Entrant(lock.name, HEDGE, f"{doubt}one of its family, {described}"))
    return (*chosen, *hedges[:most])


def representatives(locks: Iterable[Lock]) -> list[Lock]:
    """One lock of each family: of those that survive over-subscription, if any do, the one that is
    among the first to try in the most cases; then the smaller, then the first in the registry.
    Families that park come first, then those of the category that the registry has first."""
    known = [lock for lock in locks if lock.name != BASELINE]
    categories = list(dict.fromkeys(lock.category for lock in known))
    chosen: dict[Family, Lock] = {}
    for lock in sorted(known, key=_prominence):
        chosen.setdefault(family(lock), lock)
    return sorted(
        chosen.values(),
        key=lambda lock: (not lock.parking, categories.index(lock.category), lock.yields),
    )


def _prominence(lock: Lock) -> tuple[object, ...]:
    first = sorted(each.rank for each in lock.suits if each.rank <= _FIRST)
    size = (lock.bytes_per_mutex_outside, lock.bytes_per_node)
    return not lock.survives_oversubscription, -len(first), first, size


def relatives(locks: Iterable[str], known: Registry) -> tuple[str, ...]:
    """All others of their families. Locks of a family run alike, but for some per cent."""
    chosen = {BASELINE, *locks}
    families = {family(known.find(lock)) for lock in chosen}
    return tuple(
        name
        for name in known.names
        if name not in chosen and family(known.find(name)) in families and _possible(name, known)
    )


def _possible(lock: str, known: Registry) -> bool:
    """Whether the ways chosen for other locks admit it: a large lock cannot be a spin lock."""
    try:
        known.check_environment(lock, os.environ)
    except LockwrightError:
        return False
    return True
