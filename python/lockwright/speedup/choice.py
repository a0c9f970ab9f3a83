"""The locks of experiments, chosen in the running program."""

import math
import os
from collections import defaultdict
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
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import WaitObject
from lockwright.profile.waits import wait_objects
from lockwright.profile.watch import no_samples
from lockwright.speedup.block import most_readers
from lockwright.speedup.windows import NO_WAITS

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

RWLOCK, OBJECT = "a reader-writer lock", "a lock of another library"

_EVENTS = 40
"""Sections, and acquisitions of progress, that a window should contain."""

_WAITS = 10
"""Waits of a thread that a window should contain if it only waits: parts of waits at its ends are
an error."""


@dataclass(frozen=True)
class Wanted:
    """What to measure. mutexes, progress: rank, or a part of a name or site; none for those with
    most time lost, up to `most`, and None for the mutex itself. shares: as of Window; warm_up:
    seconds from the first mutex to the choice; is_whole: progress is known at the end of a run
    only; readers: parts of the names of places whose sections only read.
    """

    mutexes: Sequence[str]
    progress: str | None
    shares: Sequence[int]
    seed: int
    warm_up: float = WARM_UP
    most: int = MOST
    is_whole: bool = False
    readers: Sequence[str] = ()


@dataclass(frozen=True)
class Subject:
    """A lock of the experiments, the mutex of its progress, and seconds of a window. section: ns of
    its sections, on average; is_crowded: its threads outnumber the processors. held, waited: time
    in its sections and waits for it, divided by the time until it was chosen; summed over the
    threads, and the mutexes of its place. only_waits: these can be left out, and nothing else.
    """

    mutex: str
    progress: str
    seconds: float
    section: float = math.inf
    is_crowded: bool = False
    held: float = 0.0
    waited: float = 0.0
    only_waits: bool = False

    def shares(self, wanted: Sequence[int]) -> list[int]:
        """Return those of the wanted shares that it can have."""
        return [each for each in wanted if not self.only_waits or each in (0, NO_WAITS)]


@dataclass(frozen=True)
class Chosen:
    """A subject and the records of its mutex and of its progress. is_group: of all mutexes of its
    places, which may get more; objects: the numbers of locks of other libraries; readers: the
    callers whose sections only read."""

    subject: Subject
    records: Sequence[int]
    metered: Sequence[int]
    is_group: bool = False
    objects: Sequence[int] = ()
    readers: Sequence[int] = ()


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
    symbols = symbols_of(copy, program)
    found = Mutexes(copy, symbols, samples, copy.nanoseconds, duration)
    listed = found.all_mutexes()
    seen = _Seen(copy, symbols, samples.last_ns)
    named = [
        _only_waits(found, listed, seen, word) or _group(listed, word) for word in wanted.mutexes
    ]
    _check_only_waits(named, wanted)
    _check_threads(copy, wanted)
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
            (group.sum("waiting.total") + group.waited) / duration,
            bool(group.kind),
        )
        of_group, of_other = (_records(found, each) for each in (group, other))
        objects = group.numbers if group.kind == OBJECT else ()
        is_group = len(group.numbers) > 1 and not objects
        readers = _readers(found, group, wanted.readers) if wanted.readers else ()
        chosen.append(Chosen(subject, of_group, of_other, is_group, objects, readers))
    return [
        each
        for each in chosen
        if named or each.subject.seconds <= _RARE * chosen[0].subject.seconds
    ]


def threads_alike(buffer: Buffer) -> list[int]:
    """Return the slots of the threads that take mutexes and began in the same function as most."""
    slots = buffer.threads
    of: defaultdict[int, list[int]] = defaultdict(list)
    for slot in np.flatnonzero((slots["has_ended"] == 0) & (slots["tid"] != 0)).tolist():
        if slots["acquisitions"][slot]:
            of[buffer.routine_of(int(slots["tid"][slot]))].append(slot)
    of.pop(0, None)  # of the main thread
    return max(of.values(), key=len, default=[])


def _check_threads(buffer: Buffer, wanted: Wanted) -> None:
    known, most = len(threads_alike(buffer)), max((-share for share in wanted.shares), default=0)
    if most >= max(known, 1):
        raise LockwrightError(
            f"{known} threads of the program do the same: no {most} of them are fewer",
            "give smaller --threads",
        )


@dataclass(frozen=True)
class _Group:
    """Locks of one name, or that have it as a part. numbers: their indices; mutexes: they, or both
    sides of the reader-writer locks; kind: what they are, if no mutexes. waited: ns, of an OBJECT.
    """

    name: str
    numbers: tuple[int, ...]
    mutexes: tuple[Mutex, ...] = field(compare=False)
    kind: str = ""
    waited: float = field(default=0.0, compare=False)

    def sum(self, of: str) -> float:
        """Return the sum of an attribute of the mutexes."""
        return float(sum(map(attrgetter(of), self.mutexes)))


def _seconds(duration: float, group: _Group, progress: _Group) -> float:
    """Return the length of windows in which both are taken often enough, and a thread waits several
    times. duration: ns until now."""
    seen = [each.sum("acquisitions") for each in (group, progress) if each.kind != OBJECT]
    between = max((duration / max(each, 1) for each in seen), default=0.0)
    wait = group.sum("waiting.total") / max(group.sum("waiting.count"), 1.0)
    return min(max(_EVENTS * between / 1e9, _WAITS * wait / 1e9, _SHORTEST), _LONGEST)


def _group(listed: Sequence[Mutex], word: str) -> _Group:
    """Return all mutexes with a word in their names, unless one has that name; else the one with
    that rank or site. Raises LockwrightError if there is none, or if several have the site."""
    having = [number for number, each in enumerate(listed) if word in each.name]
    if len(having) > 1 and not word.isdecimal() and all(each.name != word for each in listed):
        return _Group(word, tuple(having), tuple(listed[number] for number in having))
    return _one(listed, find_mutex(listed, range(len(listed)), word))


def _readers(found: Mutexes, group: _Group, words: Sequence[str]) -> list[int]:
    """Return the callers of a group's places with one of the words in their names. Raises
    LockwrightError if there are none, or if they cannot be told from others."""
    places = {
        (caller, site.label)
        for number, mutex in zip(group.numbers, group.mutexes, strict=True)
        for caller, site in zip(found.callers_of(number), mutex.sites, strict=True)
    }
    reading = {place for place in places if any(word in place[1] for word in words)}
    known = ", ".join(sorted({label for _, label in places}))
    if not reading:
        raise LockwrightError(
            f"no place that takes {group.name} has {' or '.join(map(repr, words))} in its name",
            f"name some of {known} by --readers",
        )
    callers = {caller for caller, _ in reading}
    both = sorted(label for caller, label in places - reading if caller in callers)
    if both:
        raise LockwrightError(
            f"{group.name} is locked for places of --readers by a function that locks it for"
            f" {both[0]}, too",
            "name all its callers, or none",
        )
    if len(callers) > most_readers():
        raise LockwrightError(
            f"{len(callers)} places have these words in their names, more than {most_readers()}",
            "name fewer by --readers",
        )
    return sorted(callers)


def _records(found: Mutexes, group: _Group) -> list[int]:
    if group.kind == OBJECT:
        return []
    of = found.records_of_rwlock if group.kind else found.records_of
    return [record for number in group.numbers for record in of(number)]


@dataclass(frozen=True)
class _Seen:
    """What the program waited for besides mutexes and reader-writer locks, up to `ns` of the
    monotonic clock."""

    buffer: Buffer
    symbols: Symbols
    ns: int

    def objects(self, word: str) -> dict[int, WaitObject]:
        """Return the locks with a word in their names, or in those of places that wait for them, by
        their numbers in the buffer; of a word on which a thread parks for several of them, the
        first one that has it."""
        found = wait_objects(self.buffer, self.symbols, self.buffer.nanoseconds, self.ns)
        having = {
            number: next((part for part in parts if _is_named(part, word)), None)
            for number, parts in found.items()
        }
        return {n: each for n, each in having.items() if each is not None and each.is_futex}


def _is_named(lock: WaitObject, word: str) -> bool:
    return any(word in name for name in (lock.name, *(site.label for site in lock.waiters)))


def _only_waits(found: Mutexes, listed: Sequence[Mutex], seen: _Seen, word: str) -> _Group | None:
    """Return the reader-writer locks, or else the locks of other libraries, with a word in their
    names; None if there are none, or if mutexes have it."""
    if word.isdecimal() or any(word in each.name for each in listed):
        return None
    rwlocks = found.all_rwlocks()
    numbers = [number for number, each in enumerate(rwlocks) if word in each.name]
    if numbers:
        sides = [side for n in numbers for side in (rwlocks[n].readers, rwlocks[n].writers)]
        return _Group(
            _name([rwlocks[n].name for n in numbers], word), tuple(numbers), tuple(sides), RWLOCK
        )
    objects = seen.objects(word)
    if not objects:
        return None
    waited = sum(each.waited for each in objects.values())
    name = _name([each.name for each in objects.values()], word)
    return _Group(name, tuple(objects), (), OBJECT, waited)


def _name(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else word


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


def _check_only_waits(named: Sequence[_Group], wanted: Wanted) -> None:
    """Raise LockwrightError if the experiments that are wanted cannot be made on a named lock that
    is no mutex: its acquisitions without a wait pass unseen."""
    group = next((each for each in named if each.kind), None)
    if group is None:
        return
    if wanted.readers:
        raise LockwrightError(
            f"{group.name} is {group.kind}: --readers is measured of mutexes",
            "name a mutex by --mutex",
        )
    if any(wanted.shares) and NO_WAITS not in wanted.shares:
        raise LockwrightError(
            f"{group.name} is {group.kind}, whose sections cannot be shortened",
            "measure --no-waiting for it, or name a mutex by --mutex",
        )
    if wanted.progress is None and not wanted.is_whole:
        raise LockwrightError(
            f"{group.name} is {group.kind}, not all of whose acquisitions are seen",
            "give the program's progress by --metric, or name a mutex by --progress",
        )
