"""What a profile and the advice on it say of a case: the first lock, the first change, its gain."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.profile.frames import Frame
from lockwright.profile.record import Mutex, Profile, RwLock
from lockwright.profile.time_lost import lost_share
from lockwright.profile.waiting import WaitObject

from lockwright_lab.corpus.case import ANOTHER_LOCK, FIXES, Case

NEAR = 1.25
"""Greatest factor between a predicted and a replayed gain that counts as near."""

_FRAMES = 6
"""Innermost frames of a stack by whose functions a lock is recognised."""

_LOCKS = ("lock", "spin", "futex", "once")
"""Kinds of objects, beside mutexes and reader-writer locks, that are locks; a wait for a condition
is mostly one for work."""

_Lock = Mutex | RwLock | WaitObject


@dataclass(frozen=True)
class Judged:
    """What was said before the first run. problem: why nothing was, or empty. first: the lock with
    the most time lost, and lost, its share of the time in which threads ran or waited; is_right:
    whether it is the case's. change: the kind of the first change, ANOTHER_LOCK where only locks
    are named, or empty for none; is_right_fix: whether it is the case's, of the case's lock.
    predicted: the gain of the first change that is, None without one; gain: that of no waits for
    the lock, by experiments on the older version, with its interval, None where there were none.
    sentence: the verdict of `advise`. drd: what DRD says, empty if it was not asked."""

    problem: str = ""
    first: str = ""
    lost: float = 0.0
    is_right: bool = False
    change: str = ""
    is_right_fix: bool = False
    predicted: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    sentence: str = ""
    drd: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether neither a change nor a lock was advised."""
        return not self.change


def judged(case: Case, profile: Profile, advice: Mapping[str, Any]) -> Judged:
    """Compare a profile, and the advice on it as of `advise --json`, with a case."""
    locks = ranked(profile)
    first = locks[0] if locks and _waited(locks[0]) else None
    waited = sum(map(_waited, locks))
    changes = advised_changes(advice)
    right = [index for index, kind in changes if _is_fix(case, profile, advice, index, kind)]
    return Judged(
        first="" if first is None else first.name,
        lost=0.0 if first is None else lost_share(_waited(first), waited, profile.process.cpu),
        is_right=first is not None and is_lock(case, first),
        change=changes[0][1] if changes else "",
        is_right_fix=bool(right) and right[0] == changes[0][0],
        predicted=_gain(advice, right[0]) if right else None,
        sentence=advice["sentence"],
    )


def experimental(case: Case, profile: Profile) -> Mutex | RwLock | WaitObject | None:
    """Return the first lock if it is the case's, and one that experiments can be made on: not one
    that is known from samples only."""
    first = next(iter(ranked(profile)), None)
    if first is None or not _waited(first) or not is_lock(case, first):
        return None
    is_seen = not isinstance(first, WaitObject) or (first.is_futex and not first.samples)
    return first if is_seen else None


def ranked(profile: Profile) -> list[_Lock]:
    """Return all locks for which threads waited, most time first."""
    others = [each for each in profile.waits if each.kind in _LOCKS]
    found: list[_Lock] = [*profile.mutexes, *profile.rwlocks, *others]
    return sorted(found, key=_waited, reverse=True)


def _waited(lock: _Lock) -> float:
    return lock.waited if isinstance(lock, WaitObject) else lock.lost


def is_lock(case: Case, lock: _Lock) -> bool:
    """Return whether a lock is the case's: by its name, or a function or a library that takes or
    creates it."""
    return any(re.search(case.lock, name) for name in _names(lock))


def _names(lock: _Lock) -> Iterable[str]:
    yield lock.name
    stacks: list[Sequence[Frame]]
    if isinstance(lock, WaitObject):
        stacks = [each.stack for each in (*lock.waiters, *lock.wakers)]
    else:
        sides = (lock,) if isinstance(lock, Mutex) else (lock.readers, lock.writers)
        stacks = [(lock.place.frame,), lock.place.stack]
        stacks += [site.stack for side in sides for site in side.sites]
    for frame in (frame for stack in stacks for frame in stack[:_FRAMES]):
        yield frame.label
        yield Path(frame.module).name


def advised_changes(advice: Mapping[str, Any]) -> list[tuple[int | None, str]]:
    """Return index and kind of the advised changes in their order, without those that are predicted
    to cost more than they gain; then, with None, that another lock is named."""
    harmful = {
        each["change"]
        for each in _gains(advice)
        if each["throughput"] is not None and each["throughput"] < 1
    }
    found: list[tuple[int | None, str]] = [
        (index, each["kind"])
        for index, each in enumerate(advice["changes"])
        if index not in harmful
    ]
    if advice["shortlist"] or advice["rwlocks"]:
        found.append((None, ANOTHER_LOCK))
    return found


def _gains(advice: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    gains: Sequence[Mapping[str, Any]] = (advice["predicted"] or {}).get("gains", ())
    return gains


def _gain(advice: Mapping[str, Any], change: int | None) -> float | None:
    return next((each["throughput"] for each in _gains(advice) if each["change"] == change), None)


def _is_fix(
    case: Case, profile: Profile, advice: Mapping[str, Any], index: int | None, kind: str
) -> bool:
    if index is None:
        return ANOTHER_LOCK in case.fix
    of = advice["changes"][index]
    locks: Mapping[str, Sequence[_Lock]] = {
        "mutex": profile.mutexes,
        "wait": profile.waits,
        "rwlock": profile.rwlocks,
    }
    for key, known in locks.items():
        if of.get(key) is not None and not is_lock(case, known[of[key]]):
            return False
    return any(kind in FIXES[each] for each in case.fix)


def is_near(predicted: float | None, replayed: float | None) -> bool:
    """Return whether a predicted gain is within a factor of NEAR of the replayed one."""
    if not predicted or not replayed:
        return False
    return max(predicted / replayed, replayed / predicted) <= NEAR
