"""Changes for locks that another lock cannot replace: of other libraries, inside the C library, of
allocators and interpreters; and for reader-writer locks."""

import dataclasses
from typing import Any

import pytest
from lockwright.advise import Advice, advise
from lockwright.profile.frames import Frame
from lockwright.profile.record import CREATED, Mutex, Place, Profile, RwLock, Site
from lockwright.profile.waiting import WaitObject, WaitSite

from . import examples
from .examples import SECOND


def advised(profile: Profile) -> Advice:
    return advise(profile, registry=examples.LOCKS)


def kinds(profile: Profile) -> list[str]:
    return [each.kind for each in advised(profile).changes]


def stack(*symbols: str, wrappers: int = 1, waited: float = 0.5 * SECOND) -> WaitSite:
    frames = tuple(Frame("/opt/program", n, symbol) for n, symbol in enumerate(symbols))
    return WaitSite(frames, 100, waited, wrappers)


def waits(*sites: WaitSite, wakers: tuple[WaitSite, ...] = (), **more: Any) -> Profile:
    """Return a profile with waits for one lock of Rust's library, in two seconds of processor
    time."""
    waited = sum(site.waited for site in sites)
    usual: dict[str, Any] = {
        "kind": "lock",
        "name": "its name",
        "library": "Rust std",
        "waits": 100,
    }
    usual |= {"address": 16, "waited": waited, "waiters": sites, "wakers": wakers}
    return dataclasses.replace(examples.profile(), waits=(WaitObject(**(usual | more)),))


@pytest.mark.parametrize(
    ("name", "library", "symbols", "kind"),
    [
        ("lock", "Rust std", ("Mutex::lock", "count"), "atomic"),
        ("malloc: main arena", "C library", ("malloc", "work"), "allocator"),
        ("lock", "jemalloc", ("malloc_mutex_lock_slow", "work"), "allocator"),
        ("lock in localtime_r", "C library", ("localtime_r", "work"), "per thread"),
        ("lock in _IO_puts", "C library", ("_IO_puts", "work"), "batch"),
    ],
)  # fmt: skip
def test_the_functions_that_take_a_lock_tell_the_change(
    name: str, library: str, symbols: tuple[str, ...], kind: str
) -> None:
    advice = advised(waits(stack(*symbols), name=name, library=library))
    assert [(each.kind, each.mutex, each.wait) for each in advice.changes] == [(kind, None, 0)]
    assert "20 % of the time in which they ran or waited for" in advice.sentence
    assert f"{library}: {name}. No other lock replaces it. No lock will change" in advice.sentence


def test_several_functions_share_data_that_can_be_divided() -> None:
    """A twentieth of the waiting is the limit, of those that wait and of those that release it."""
    of = stack("lock", "get")
    for share, kind in ((0.06, "sharding"), (0.04, "atomic")):
        other = stack("lock", "put", waited=share / (1 - share) * of.waited)
        assert kinds(waits(of, other)) == [kind]
        assert kinds(waits(of, wakers=(of, other))) == [kind]
    inlined = stack("unlock", "main", waited=of.waited)
    assert kinds(waits(stack("lock", "get", "main"), wakers=(inlined,))) == ["atomic"]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        ("std::sys::sync::rwlock::RwLock::write", "std::sys::sync::rwlock::RwLock::read"),
        ("parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow", "RawRwLock::lock_shared_slow"),
        ("QReadWriteLock::lockForWrite", "QReadWriteLock::lockForRead"),
    ],
)  # fmt: skip
def test_writers_of_a_reader_writer_lock_may_read_first(write: str, read: str) -> None:
    """Unless readers wait more, or nobody reads."""
    reads, writes = stack(read, "use", waited=0.2 * SECOND), stack(write, "use", waited=1e8)
    for sites, kind in (
        ((writes, reads), "atomic"),
        ((writes, writes, reads), "reader-writer lock"),
        ((writes, writes), "atomic"),
    ):
        assert kinds(waits(*sites)) == [kind]


def test_waits_that_cost_little_or_are_for_work_have_no_change() -> None:
    """The limit is 0.105 s: 5 % of themselves and of two seconds of processor time."""
    assert kinds(waits(stack("lock", "count", waited=0.12 * SECOND)))
    silent: tuple[dict[str, Any], ...] = (
        {"waited": 0.1 * SECOND},
        {"kind": "condition"},
        {"library": "CPython"},
        {"waits": 9},
        {"samples": 4},
    )
    for changed in silent:
        assert kinds(waits(stack("lock", "count"), **changed)) == [], changed


def test_the_lock_with_most_waiting_is_first() -> None:
    for waited, first in ((0.4, "atomic"), (0.6, "sharding")):
        mutex = examples.mutex(contended=100, waited=waited * SECOND, threads=2)
        both = dataclasses.replace(examples.profile(mutex), waits=waits(stack("l", "f")).waits)
        assert kinds(both)[0] == first


def of_allocator(**more: Any) -> Mutex:
    """Return a mutex that jemalloc created, with tiny sections."""
    place = Place(CREATED, Frame("/usr/lib/libjemalloc.so.2", 1))
    usual: dict[str, Any] = {"held": 30, "entries": 1.2e6, "threads": 2}
    return dataclasses.replace(examples.mutex(**(usual | more)), place=place)


def test_mutexes_of_an_allocator_are_one_bottleneck() -> None:
    """Of 0.2 s lost, each has less than 5 %; without any, many acquisitions are a reason, too."""
    few: dict[str, Any] = {"contended": 10, "waited": 0.05 * SECOND}
    mutexes = [of_allocator(**few) for _ in range(4)]
    assert kinds(examples.profile(*mutexes)) == ["allocator"]
    free = of_allocator(entries=2.1e6)
    assert kinds(examples.profile(free, lock_calls=2.1e6)) == ["allocator"]
    assert kinds(examples.profile(of_allocator(entries=1000))) == []


def test_an_interpreters_lock_is_not_divided() -> None:
    gil = dataclasses.replace(
        examples.mutex(contended=100, waited=SECOND, threads=2, entries=4e6, held=20),
        name="Python's interpreter lock",
    )
    assert kinds(examples.profile(gil)) == ["processes"]
    free = dataclasses.replace(examples.mutex(entries=2.1e6, held=20), name=gil.name)
    assert kinds(examples.profile(free, lock_calls=2.1e6)) == []


def test_a_holder_that_polls_has_a_long_section_although_it_is_preempted() -> None:
    site = examples.site("exclusive", held=7e8, acquisitions=1000)
    holding = examples.distribution(1000, 7e5, buckets=((10.0, 990.0), (7e7, 10.0)))
    mutex = examples.mutex(contended=100, waited=0.5 * SECOND, threads=2, sites=(site,))
    mutex = dataclasses.replace(mutex, holding=holding, preempted_holds=0.5)
    for symbol, share, wanted in (
        ("exclusive", 0.26, True),
        ("exclusive", 0.24, False),
        ("other", 0.26, False),
    ):
        loop = WaitSite((examples.frame(symbol),), 0, share * holding.total)
        spin = WaitObject("spin", "loop", "", 0, 0, loop.waited, waiters=(loop,), samples=9)
        profile = dataclasses.replace(examples.profile(mutex), waits=(spin,))
        assert ("smaller section" in kinds(profile)) is wanted


@pytest.mark.parametrize(
    ("reads", "held", "kind"),
    [
        (40, 100, "reader-writer lock"),
        (60, 100, "sharding"),
        (10, 20_000, "smaller section"),
        (990, 100, "atomic"),
        (990, 2000, "sharding"),
        (700, 100, "sharding"),
    ],
)
def test_reader_writer_locks(reads: int, held: float, kind: str) -> None:
    """A thousand acquisitions, `reads` of which read."""

    def side(number: int, symbol: str) -> Mutex:
        site = Site((examples.frame(symbol),), number, 1, 0, number * held)
        more: dict[str, Any] = {"contended": 1, "waited": 0.2 * SECOND, "sites": (site,)}
        return examples.mutex(entries=number, held=held, **more)

    place = Place(CREATED, examples.frame())
    lock = RwLock("table", place, 16, 1, 2, side(reads, "find"), side(1000 - reads, "set"))
    profile = dataclasses.replace(examples.profile(), rwlocks=(lock,))
    assert kinds(profile)[0] == kind
    # Several functions write to change something.
    more = Site((examples.frame("remove"),), 1000, 1, 0, 1000 * held)
    sites = (*lock.writers.sites, more)
    several = dataclasses.replace(lock, writers=dataclasses.replace(lock.writers, sites=sites))
    changed = kinds(dataclasses.replace(profile, rwlocks=(several,)))[0]
    assert changed == ("sharding" if kind == "reader-writer lock" else kind)
