"""Gains that `lockwright what-if --measure` has measured, beside the predicted ones."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from lockwright.advise.advice import Advice, Change, Gain
from lockwright.base import documents
from lockwright.base.errors import LockwrightError
from lockwright.profile.record import Profile

SHORTER = "smaller section"
"""The kind of the changes that experiments with shorter sections measure."""

SPLITTING = frozenset(
    {"sharding", "atomic", "allocator", "processes", "reader-writer lock", "starved writers"}
)
"""The kinds of those that spare waits. They may gain more than these cost: a line that moves
between processors, and the work under the lock (docs/lab/results/2026-11-29-corpus.md)."""

TOGETHER = "readers together"
"""The change of experiments that the next kinds make."""

_FOR_READERS = frozenset({"reader-writer lock", "starved writers"})

_SHARE = 50
"""Per cent by which sections are shorter in the prediction; the nearest share counts."""

NOTHING = 1.25
"""A gain that may be larger than this is not none, even if it may be none."""


@dataclass(frozen=True)
class _Row:
    """shorter_percent: None without waits, with readers together or with a number of threads."""

    shorter_percent: int | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    threads: int | None = None
    change: str = ""


@dataclass(frozen=True)
class _OfMutex:
    mutex: str
    rows: tuple[_Row, ...]


@dataclass(frozen=True)
class _Result:
    """What is used of the file that `what-if --measure --json` writes."""

    measured: bool
    mutexes: tuple[_OfMutex, ...]


def limits_nothing(low: float | None, high: float | None) -> bool:
    """Return whether a gain with this interval is shown to be next to none."""
    return (low or 0.0) <= 1 and high is not None and high <= NOTHING


def is_nothing(gain: Gain) -> bool:
    """Return whether a change is shown to gain next to nothing, which no waits do not show."""
    return gain.kind == SHORTER and limits_nothing(gain.low, gain.high)


def with_measured(advice: Advice, profile: Profile, path: Path) -> Advice:
    """Return the advice with the gains of a file. Raises LockwrightError if it is none of
    `what-if --measure --json`, or of none of the profile's mutexes."""
    todo = "give a file of 'lockwright what-if --measure --json FILE'"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise LockwrightError(f"cannot read {path}: {error.strerror}", todo) from error
    result = documents.decode(_Result, text, str(path), todo)
    names = [each.name for each in profile.mutexes]
    names += [each.name for each in profile.rwlocks] + [each.name for each in profile.waits]
    known = [each for each in result.mutexes if any(each.mutex in name for name in names)]
    if not known:
        raise LockwrightError(
            f"{path} has experiments on no lock of the profile", "profile the same program"
        )
    gains = [gain for each in known for gain in _gains(advice, profile, each)]
    return replace(advice, measured=tuple(gains))


def _gains(advice: Advice, profile: Profile, of: _OfMutex) -> list[Gain]:
    """Return the gain of each change that makes the lock's sections shorter, and of each that
    leaves hardly a wait for it; of none where there is no such change."""
    rows = [each for each in of.rows if each.gain is not None and each.threads is None]
    shorter = [
        (abs(each.shorter_percent - _SHARE), each)
        for each in rows
        if each.shorter_percent is not None
    ]
    found: list[Gain] = []
    if shorter:
        _, row = min(shorter, key=itemgetter(0))
        text = f"with sections of {of.mutex} {row.shorter_percent} % shorter"
        found += _of_changes(advice, profile, of.mutex, {SHORTER}, row, text)
    # The first one of a change is shown beside it.
    others = [each for each in rows if each.shorter_percent is None]
    for row in sorted(others, key=lambda each: each.change != TOGETHER):
        if row.change == TOGETHER:
            text, kinds = f"with readers of {of.mutex} together", _FOR_READERS
        else:
            text, kinds = f"without waits for {of.mutex}", SPLITTING
        found += _of_changes(advice, profile, of.mutex, kinds, row, text)
    return found


def _of_changes(
    advice: Advice, profile: Profile, lock: str, kinds: Collection[str], row: _Row, text: str
) -> list[Gain]:
    changes: list[tuple[int | None, str]] = [
        (index, change.kind)
        for index, change in enumerate(advice.changes)
        if change.kind in kinds and lock in _name(profile, change)
    ]
    return [
        Gain(kind, index, text, row.gain, row.gain_low, row.gain_high)
        for index, kind in changes or [(None, SHORTER if SHORTER in kinds else "")]
    ]


def _name(profile: Profile, change: Change) -> str:
    """Return the name of the lock that a change is for; "" for the entire program."""
    if change.mutex is not None:
        return profile.mutexes[change.mutex].name
    if change.rwlock is not None:
        return profile.rwlocks[change.rwlock].name
    return "" if change.wait is None else profile.waits[change.wait].name
