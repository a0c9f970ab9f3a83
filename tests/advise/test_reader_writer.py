"""Tests of the advice on reader-writer locks."""

import dataclasses
import re
from typing import Any

import pytest
from lockwright.advise.advice import Advice
from lockwright.advise.adviser import advise
from lockwright.advise.show import comparisons, run_of_default
from lockwright.commands import what_if
from lockwright.preload.locks import Registry
from lockwright.profile.record import Mutex, Profile, RwLock

from . import examples

SECOND = examples.SECOND


def advised(readers: Mutex, writers: Mutex, **more: Any) -> tuple[Profile, Advice]:
    """Return the advice on a program with one reader-writer lock; `more` sets fields of the
    process."""
    lock = RwLock("table", readers.place, readers.address, 1, 2, readers, writers)
    profile = dataclasses.replace(examples.profile(**more), rwlocks=(lock,))
    return profile, advise(profile, registry=examples.LOCKS)


def with_default(
    profile: Profile, monkeypatch: pytest.MonkeyPatch, environment: str = ""
) -> Advice:
    """Return the advice among locks of which one is that of the default."""
    monkeypatch.setenv("LOCKWRIGHT_RWLOCK", environment)
    row = examples.lock("adaptive", is_default=True, parking=True)
    known = Registry(examples.LOCKS.directory, [examples.lock("pthread"), row])
    return advise(profile, registry=known)


def names(advice: Advice) -> list[str]:
    return [candidate.lock for candidate in advice.rwlocks]


@pytest.mark.parametrize(("waited", "matters"), [(0.09, False), (0.13, True)])
def test_a_lock_is_advised_if_the_waiting_counts(waited: float, matters: bool) -> None:
    """The threads ran for two seconds."""
    readers = examples.mutex(entries=99_000, contended=100, waited=waited * SECOND)
    profile, advice = advised(readers, examples.mutex(entries=1000))
    assert ("99 % reads" in advice.sentence) is matters
    assert names(advice) == (["big-reader", "c-rw-wp"] if matters else [])
    first = "Try --rwlock big-reader or c-rw-wp: " if matters else "No lock will change much: "
    assert advice.sentence.startswith(first)
    commands = comparisons(profile, advice, 5)
    expected = "lockwright compare --locks pthread --rwlocks keep,big-reader,c-rw-wp -- program"
    assert commands == ([expected] if matters else [])


def test_the_default_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where another reader-writer lock is chosen, or its mutexes would not serve the threads:
    `compare` would refuse it, or it would starve them."""
    readers = examples.mutex(entries=99_000, contended=100, waited=SECOND)
    profile, _ = advised(readers, examples.mutex(entries=1000))
    advice = with_default(profile, monkeypatch)
    assert names(advice) == ["default", "big-reader", "c-rw-wp"]
    assert advice.sentence.startswith("Try default, or --rwlock big-reader or c-rw-wp: ")
    assert comparisons(profile, advice, 5) == [
        "lockwright compare --locks pthread,default --rwlocks keep,big-reader,c-rw-wp -- program"
    ]
    assert run_of_default(profile, advice) == ["lockwright run -- program"]
    realtime = dataclasses.replace(profile.process, realtime=2)
    for advice in (
        with_default(profile, monkeypatch, "phase-fair"),
        with_default(dataclasses.replace(profile, rwlock="phase-fair"), monkeypatch),
        with_default(dataclasses.replace(profile, process=realtime), monkeypatch),
    ):
        assert names(advice) == ["big-reader", "c-rw-wp"]
        assert run_of_default(profile, advice) == []
    kept = dataclasses.replace(profile, rwlock="keep")
    assert "default" in names(with_default(kept, monkeypatch))


def test_the_lock_depends_on_the_load() -> None:
    waits = examples.mutex(entries=80_000, contended=100, waited=SECOND)
    writers = examples.mutex(entries=20_000)
    assert names(advised(waits, writers)[1]) == ["parking-lot-rw", "futex-rw"]
    crowded = advised(waits, writers, runnable=8.0, threads_mean=8.0, threads_most=8)[1]
    assert names(crowded) == ["parking-lot-rw", "shfl-rw"]


@pytest.mark.parametrize(
    ("wait", "read_share", "starved"), [(3e6, 0.9, True), (3e6, 0.4, False), (9e5, 0.9, False)]
)
def test_starved_writers(wait: float, read_share: float, starved: bool) -> None:
    """Sections last 20 us, so a wait of 3 ms is as long as 150 of them."""
    readers = examples.mutex(entries=10_000 * read_share, held=20_000)
    writers = examples.mutex(
        entries=10_000 * (1 - read_share), held=20_000, contended=10, waited=10 * wait
    )
    _, advice = advised(readers, writers)
    kinds = [change.kind for change in advice.changes]
    assert ("starved writers" in kinds) is starved
    assert (names(advice)[:2] == ["phase-fair", "futex-rw"]) is starved
    assert ("Writers of table wait" in advice.sentence) is starved


def test_a_mutex_instead_where_readers_never_meet() -> None:
    """Two million acquisitions in two seconds of processor time."""
    readers = examples.mutex(entries=2_000_000, held=20)
    _, advice = advised(readers, examples.mutex(entries=1000, held=20))
    assert [change.kind for change in advice.changes] == ["mutex"]
    assert "readers hardly ever meet" in advice.changes[0].text
    meeting = examples.mutex(entries=2_000_000, held=200)
    assert advised(meeting, examples.mutex(entries=1000, held=20))[1].changes == ()


def test_a_mutex_instead_where_most_write() -> None:
    writers = examples.mutex(entries=9000, held=1000, contended=1000, waited=0.5 * SECOND)
    _, advice = advised(examples.mutex(entries=1000, held=80_000), writers)
    assert [change.kind for change in advice.changes] == ["mutex"]
    assert names(advice)[0] == "mutex"


def test_a_mutex_whose_long_sections_may_only_read() -> None:
    hot = examples.mutex(
        held=5000,
        contended=100,
        waited=0.5 * SECOND,
        threads=2,
        sites=(examples.site("find", held=5e6, acquisitions=1000),),
    )
    advice = advise(examples.profile(hot), registry=examples.LOCKS)
    (change,) = (each for each in advice.changes if each.kind == "reader-writer lock")
    assert "find" in change.text
    commands = re.findall(r"'lockwright (what-if [^']*)'", change.text)
    assert len(commands) == 2
    for words in map(str.split, commands):
        assert what_if.command.make_context(words[0], words[1:])
    brief = dataclasses.replace(hot, holding=examples.distribution(1000, 500))
    kinds = [each.kind for each in advise(examples.profile(brief), registry=examples.LOCKS).changes]
    assert "reader-writer lock" not in kinds
