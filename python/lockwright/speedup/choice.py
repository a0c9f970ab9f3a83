"""The mutexes of experiments, chosen in the running program."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from lockwright.base import clock
from lockwright.base.errors import LockwrightError
from lockwright.predict.changes import find_mutex
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer
from lockwright.profile.convert import symbols_of
from lockwright.profile.mutexes import Mutexes
from lockwright.profile.record import Mutex
from lockwright.profile.watch import no_samples

WARM_UP = 1.0
"""Seconds from the program's first mutex to the choice of one."""

MOST = 3
"""Mutexes that are chosen if none is named."""

_WORTH = 0.05
"""Least time lost for another one of these, as a share of that for the first one."""

_RARE = 4
"""Longest windows of another one of these, as a multiple of those of the first one."""

_SHORTEST, _LONGEST = 0.06, 2.0
"""Seconds of a window."""

_EVENTS = 40
"""Sections, and acquisitions of progress, that a window should contain."""


@dataclass(frozen=True)
class Wanted:
    """What to measure. mutexes, progress: rank, or a part of a name or site; none for those with
    most time lost, up to `most`, and None for the mutex itself. shares: per cent, 0 for controls;
    warm_up: seconds from the first mutex to the choice."""

    mutexes: Sequence[str]
    progress: str | None
    shares: Sequence[int]
    seed: int
    warm_up: float = WARM_UP
    most: int = MOST


@dataclass(frozen=True)
class Subject:
    """A mutex of the experiments, that of its progress, and seconds of a window. section: ns of
    its sections, on average; is_crowded: its threads outnumber the processors. held, waited: time
    in its sections and waits for it, divided by the time until it was chosen; summed over the
    threads, and the mutexes of its place."""

    mutex: str
    progress: str
    seconds: float
    section: float = math.inf
    is_crowded: bool = False
    held: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True)
class Chosen:
    """A subject and the records of its mutex and of its progress. is_group: of all mutexes of its
    places, which may get more."""

    subject: Subject
    records: Sequence[int]
    metered: Sequence[int]
    is_group: bool = False


def choose(buffer: Buffer, program: str, wanted: Wanted) -> list[Chosen]:
    """Choose the mutexes; the first one has most time lost, or is named first. program: path of
    the started one. Raises LockwrightError if that is not possible yet."""
    damage.check(buffer)
    copy = buffer.copy()
    if len(copy.threads) < 2:
        raise LockwrightError(
            "the program has one thread that takes mutexes: no other one can be delayed",
            "measure it with several threads",
        )
    threads = np.count_nonzero(copy.threads["has_ended"] == 0)
    samples = no_samples(copy)
    samples.last_ns = clock.monotonic_ns()
    duration = float(samples.last_ns - int(copy["begin_ns"]))
    found = Mutexes(copy, symbols_of(copy, program), samples, copy.nanoseconds, duration)
    listed = found.all_mutexes()
    _check_no_rwlock(found, wanted)
    named = [_group(listed, word) for word in wanted.mutexes]
    metered = None if wanted.progress is None else _group(listed, wanted.progress)
    # The main thread mostly waits for the others.
    is_crowded = bool(threads - 1 > len(os.sched_getaffinity(0)))
    chosen = []
    for group in dict.fromkeys(named or _costly(listed, wanted.most)):
        other = metered or group
        count, held = group.sum("holding.count"), group.sum("holding.total")
        subject = Subject(
            group.name,
            other.name,
            _seconds(duration, group, other),
            held / count if count else math.inf,
            is_crowded,
            held / duration,
            group.sum("waiting.total") / duration,
        )
        of_group, of_other = (
            [record for number in each.numbers for record in found.records_of(number)]
            for each in (group, other)
        )
        chosen.append(Chosen(subject, of_group, of_other, len(group.numbers) > 1))
    return [
        each
        for each in chosen
        if named or each.subject.seconds <= _RARE * chosen[0].subject.seconds
    ]


@dataclass(frozen=True)
class _Group:
    """Mutexes of one name, or that have it as a part. numbers: their indices."""

    name: str
    numbers: tuple[int, ...]
    mutexes: tuple[Mutex, ...] = field(compare=False)

    def sum(self, of: str) -> float:
        """Return the sum of an attribute of the mutexes."""
        return float(sum(map(attrgetter(of), self.mutexes)))


def _seconds(duration: float, *groups: _Group) -> float:
    """Return the length of windows in which all are taken often enough. duration: ns until now."""
    between = max(duration / max(each.sum("acquisitions"), 1) for each in groups) / 1e9
    return min(max(_EVENTS * between, _SHORTEST), _LONGEST)


def _group(listed: Sequence[Mutex], word: str) -> _Group:
    """Return all mutexes with a word in their names, unless one has that name; else the one with
    that rank or site. Raises LockwrightError if there is none, or if several have the site."""
    having = [number for number, each in enumerate(listed) if word in each.name]
    if len(having) > 1 and not word.isdecimal() and all(each.name != word for each in listed):
        return _Group(word, tuple(having), tuple(listed[number] for number in having))
    return _one(listed, find_mutex(listed, range(len(listed)), word))


def _one(listed: Sequence[Mutex], number: int) -> _Group:
    return _Group(listed[number].name, (number,), (listed[number],))


def _costly(listed: Sequence[Mutex], most: int) -> list[_Group]:
    """Return the mutexes that cost most. listed: by the time lost."""
    if not listed or not listed[0].lost:
        raise LockwrightError(
            "no thread waited for a mutex, so shorter sections gain nothing by it",
            "name the mutex to experiment with by --mutex",
        )
    least = _WORTH * listed[0].lost
    return [_one(listed, n) for n, each in enumerate(listed[:most]) if each.lost >= least]


def _check_no_rwlock(found: Mutexes, wanted: Wanted) -> None:
    words = [each for each in (*wanted.mutexes, wanted.progress) if each is not None]
    for rwlock in found.all_rwlocks():
        if any(not word.isdecimal() and word in rwlock.name for word in words):
            raise LockwrightError(
                f"{rwlock.name} is a reader-writer lock, whose sections cannot be shortened",
                "name a mutex by --mutex",
            )
