"""Gains that `lockwright what-if --measure` has measured, beside the predicted ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from lockwright.advise.advice import Advice, Gain
from lockwright.base import documents
from lockwright.base.errors import LockwrightError
from lockwright.profile.record import Profile

SHORTER = "smaller section"
"""The kind of the changes that experiments measure."""

_SHARE = 50
"""Per cent by which sections are shorter in the prediction; the nearest share counts."""

NOTHING = 1.25
"""A gain that may be larger than this is not none, even if it may be none."""


@dataclass(frozen=True)
class _Row:
    shorter_percent: int | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None


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
    """Return whether a change is shown to gain next to nothing."""
    return limits_nothing(gain.low, gain.high)


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
    known = [each for each in result.mutexes if any(each.mutex in name for name in names)]
    if not known:
        raise LockwrightError(
            f"{path} has experiments on no mutex of the profile", "profile the same program"
        )
    gains = [gain for each in known for gain in _gains(advice, names, each)]
    return replace(advice, measured=tuple(gains))


def _gains(advice: Advice, names: Sequence[str], of: _OfMutex) -> list[Gain]:
    """Return the gain of each change that makes the mutex's sections shorter; of none if there is
    no such change."""
    rows = [
        (abs(each.shorter_percent - _SHARE), each)
        for each in of.rows
        if each.gain is not None and each.shorter_percent is not None
    ]
    if not rows:
        return []
    _, row = min(rows, key=itemgetter(0))
    changes: list[int | None] = [
        index
        for index, change in enumerate(advice.changes)
        if change.kind == SHORTER and change.mutex is not None and of.mutex in names[change.mutex]
    ]
    text = f"with sections of {of.mutex} {row.shorter_percent} % shorter"
    return [
        Gain(SHORTER, change, text, row.gain, row.gain_low, row.gain_high)
        for change in changes or [None]
    ]
