"""The locks that take part in a race: who is recommended, and who joins in case that is wrong."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, Lock, Registry

NAMED, ADVISED, HEDGE = "named", "advised", "hedge"
"""Why a lock takes part: the user named it, the advice did, or as one of its family."""

DIVERSE = 3
"""How many of these prove that a program is not lock-sensitive."""


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
    for lock in sorted(known, key=_prominence):
        if lock.name == BASELINE or not _possible(lock.name, known):
            continue
        mine = family(lock)
        if mine not in families:
            families.add(mine)
            doubt = "in case the advice is wrong: " if chosen else ""
            hedges.append(Entrant(lock.name, HEDGE, f"{doubt}one of its family, {mine.described}"))
    return (*chosen, *hedges[:most])


def _prominence(lock: Lock) -> tuple[bool, float, bool, float]:
    """Orders the locks that may stand for their families: those first that park, then by how well
    they suit more threads than processors, then those with low traffic, then by how well they suit
    any other case; the registry's order decides."""
    crowded = lock.suitability("crowded")
    return (
        not lock.parking,
        crowded.rank if crowded else math.inf,
        not lock.low_traffic,
        min((each.rank for each in lock.suits), default=math.inf),
    )


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
