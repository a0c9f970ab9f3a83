"""Beside the bottlenecks: what to change in the program, tail latency, and whether it matters."""

import dataclasses
import json
from typing import Any

import pytest
from lockwright.advise import Advice, advise
from lockwright.profile.record import Creation, Profile

from . import made
from .made import SECOND


def advised(profile: Profile) -> Advice:
    return advise(profile, registry=made.LOCKS)


def kinds(profile: Profile) -> list[str]:
    return [each.kind for each in advised(profile).changes]


@pytest.mark.parametrize(("waited", "wanted"), [(0.1, False), (0.12, True)])
def test_a_program_that_hardly_waits_is_not_sensitive(waited: float, wanted: bool) -> None:
    """0.105 s are 5 % of those and the two seconds that the threads ran."""
    shared = made.mutex(contended=10, waited=waited * SECOND, threads=30)
    advice = advised(made.profile(shared, threads_mean=30.0, threads_most=30))
    assert advice.sensitive is wanted
    assert advice.sentence.startswith("No lock will change much") is not wanted


@pytest.mark.parametrize(("runnable", "wanted"), [(2.5, False), (1.9, True), (1.8, True)])
def test_waiting_costs_nothing_while_others_use_the_processors(
    runnable: float, wanted: bool
) -> None:
    """There are two processors."""
    shared = made.mutex(contended=10, waited=SECOND, threads=30)
    profile = made.profile(shared, threads_mean=30.0, threads_most=30, runnable=runnable)
    advice = advised(profile)
    assert advice.fired == ()
    assert advice.sensitive is wanted
    assert ("others used the processors" in advice.sentence) is not wanted


@pytest.mark.parametrize(("waits", "wanted"), [(59_000, False), (61_000, True)])
def test_but_falling_asleep_and_waking_has_its_price(waits: int, wanted: bool) -> None:
    """The cost counts against two seconds of processor time; a thread is always runnable."""
    shared = made.mutex(contended=waits, waited=SECOND, threads=30)
    profile = made.profile(shared, threads_mean=30.0, threads_most=30, runnable=2.5)
    advice = advised(profile)
    assert advice.fired == ()
    assert advice.sensitive is wanted


def test_the_sentence_names_the_bottleneck_and_where() -> None:
    sentence = advised(
        made.profile(made.mutex(contended=9, waited=0.3 * SECOND, threads=2))
    ).sentence
    assert sentence.startswith("It is high contention at hot; try ")


@pytest.mark.parametrize(
    ("waits", "runnable", "gains"), [(1_900, 8.0, False), (2_100, 8.0, True), (1_900, 1.8, None)]
)
def test_where_the_c_library_parks_already_another_lock_gains_little(
    waits: int, runnable: float, gains: bool | None
) -> None:
    """The two seconds of processor time; what waits for nobody but a preempted holder."""
    hot = made.mutex(entries=5000, held=4e4, contended=waits, waited=SECOND, threads=30)
    hot = dataclasses.replace(hot, preempted_holds=0.5)
    profile = made.profile(hot, threads_mean=30.0, threads_most=30, runnable=runnable)
    advice = advised(profile)
    assert [each.key for each in advice.fired] == ["holder preemption"] * (gains is not None)
    assert ("will gain little" in advice.sentence) is (gains is False)
    assert ("; try " in advice.sentence) is (gains is not False)
    assert advice.sensitive


def test_what_was_not_looked_into_is_said() -> None:
    """There are two seconds of processor time."""
    few, many = (advised(made.profile(made.mutex(), rwlock_calls=n)) for n in (19_000, 21_000))
    assert "reader-writer" not in few.sentence
    assert "reader-writer locks 21,000 times" in many.sentence


def held(*sites: Any, held: float, waited: float = 0.5 * SECOND, **more: Any) -> Profile:
    given: dict[str, Any] = {"threads": 2, "sites": sites} | more
    return made.profile(made.mutex(held=held, contended=100, waited=waited, **given))


def test_one_long_section_should_be_smaller() -> None:
    long, short = made.site("long", held=7e8, acquisitions=1000), made.site("short", held=3e8)
    changes = advised(held(long, short, held=1e6)).changes
    assert [each.kind for each in changes] == ["smaller section", "sharding"]
    assert "long" in changes[0].text
    even = made.site("long", held=5e8, acquisitions=1000)
    assert kinds(held(even, made.site("other", held=5e8, acquisitions=1000), held=1e6)) == [
        "sharding"
    ]
    brief = made.site("brief", held=7e6, acquisitions=1000)
    assert kinds(held(brief, held=7e3)) == ["sharding"]
    assert kinds(held(long, held=1e6, waited=0.05 * SECOND)) == []


def test_a_tiny_section_that_threads_take_from_each_other_may_be_an_atomic() -> None:
    """Half of 220,000 acquisitions find that another thread had the mutex; with a mutex for each
    thread none do.
    """
    often = {"waited": 0, "entries": 220_000, "owner_changes": 0.5}
    assert kinds(held(held=50, **often)) == ["atomic"]
    assert kinds(held(held=110, **often)) == []
    assert kinds(held(held=50, **(often | {"entries": 180_000}))) == []
    assert kinds(held(held=50, **(often | {"owner_changes": 0}))) == []
    assert kinds(held(held=50, **often, cond_waits=1)) == []


def test_one_mutex_that_everybody_waits_for_may_be_divided() -> None:
    one = made.mutex(contended=100, waited=0.5 * SECOND, threads=2)
    other = made.mutex(contended=100, waited=0.3 * SECOND, threads=2)
    assert kinds(made.profile(one, other)) == ["sharding"]
    third = made.mutex(contended=100, waited=0.4 * SECOND, threads=2)
    assert kinds(made.profile(one, third)) == []


def test_threads_that_are_woken_for_nothing() -> None:
    for futile, waits, wanted in ((200, 700, True), (200, 900, False), (90, 300, False)):
        hot = made.mutex(entries=10_000, cond_waits=waits, futile_wakeups=futile)
        assert kinds(made.profile(hot)) == (["signal"] if wanted else [])


def test_a_loop_of_trylocks_should_be_a_lock() -> None:
    hot = made.mutex(entries=1000, failed_trylocks=300_000)
    assert kinds(made.profile(hot)) == ["lock"]


@pytest.mark.parametrize(("entries", "wanted"), [(1100, True), (900, False)])
def test_the_lock_decides_the_tail_where_an_operation_is_one_section(
    entries: float, wanted: bool
) -> None:
    """Half of the two seconds that the processors were used."""
    hot = made.mutex(entries=entries, held=1e6, contended=9, waited=SECOND, threads=2)
    tail = advised(made.profile(hot)).tail_latency
    assert tail.one_section is wanted
    assert ("FIFO lock" in tail.text) is wanted


def test_nobody_waits_so_nothing_decides_the_tail() -> None:
    assert advised(made.profile(made.mutex())).tail_latency.one_section is None


def test_the_whole_is_json() -> None:
    whole = json.loads(advised(held(held=1e6)).to_json())
    assert whole["format"] == "lockwright advice 1"
    assert len(whole["diagnoses"]) == 9
    assert len(whole["steps"]) == 6


def test_an_empty_profile_has_advice() -> None:
    """The program ended at once."""
    advice = advised(made.profile(duration=0, threads_mean=0, threads_most=0, cpu_user=0))
    assert advice.sensitive is False
    assert advice.fired == ()


def test_the_sentence_names_the_mutex_that_is_most_concerned() -> None:
    """Not the one for which threads waited longest, where waiting is not what costs."""
    few = dataclasses.replace(made.mutex(entries=3e5, contended=10, waited=1e6), name="few")
    many = dataclasses.replace(made.mutex(entries=3e6), name="many")
    advice = advise(made.profile(few, many, lock_calls=3.3e6), registry=made.LOCKS)
    assert [each.key for each in advice.fired] == ["uncontended"]
    assert " at many;" in advice.sentence


@pytest.mark.parametrize("waited", [0, 0.055])
@pytest.mark.parametrize(
    "rule", ["handover", "page clearing", "fault handler", "memory contention"]
)
def test_where_nothing_is_lost_by_waiting_no_lock_is_named(rule: str, waited: float) -> None:
    """The loss counts relative to the two seconds that the threads ran; 0.11 s are 5 % of them."""
    advice = advised(bottleneck(rule, waited))
    assert [each.key for each in advice.fired] == [rule]
    assert advice.sensitive, "the wrong lock would cost"
    assert advice.sentence.startswith("No lock will change much: threads lost ")
    assert advice.fired[0].title in advice.sentence
    assert "try " not in advice.sentence
    assert advice.shortlist == ()
    assert advised(bottleneck(rule, 0.2)).shortlist


def bottleneck(rule: str, waited: float) -> Profile:
    """Beside a mutex that many threads share, so that they stand in no line."""
    shared: dict[str, Any] = {
        "contended": 10,
        "waited": waited * SECOND,
        "threads": 30,
        "entries": 10_000,
    }
    whole: dict[str, Any] = {"threads_mean": 30.0, "threads_most": 30}
    created: dict[str, Any] = {
        "created": 5000,
        "alive_most": 10,
        "by_most": 0.5,
        "early": 0.1,
        "creators": 2,
    }
    if rule == "handover":
        shared |= {"cond_waits": 5000}
    elif rule == "memory contention":
        whole |= {"touched": 1.7e9, "lock_calls": 1e5}
    elif rule == "fault handler":
        whole |= {"minor_faults": 300_000, "cpu_user": 1.5 * SECOND, "cpu_system": 0.5 * SECOND}
        whole["creation"] = Creation(**created)
    else:
        created |= {"alive_most": 5000, "by_most": 1.0, "early": 1.0}
        whole |= {"minor_faults": 50_000, "creation": Creation(**created)}
    return made.profile(made.mutex(**shared), **whole)


@pytest.mark.parametrize(("processors", "wanted"), [(2, True), (64, False)])
def test_a_preempted_holder_costs_what_was_lost_by_it(processors: int, wanted: bool) -> None:
    """0.2 of a second that threads waited: of two seconds of processor time, or of 64."""
    hot = made.mutex(entries=100, held=2.8e6, contended=10, waited=2e8, threads=80)
    hot = dataclasses.replace(hot, preempted_holds=0.5)
    more: dict[str, Any] = {"threads_mean": 100.0, "threads_most": 100}
    used = processors * SECOND
    profile = made.profile(hot, processors=processors, runnable=99.0, cpu_user=used, **more)
    advice = advised(profile)
    assert [each.key for each in advice.fired] == ["holder preemption"]
    assert bool(advice.shortlist) is wanted


@pytest.mark.parametrize("seen", [None, 0])
def test_any_lock_may_be_named_where_no_priority_is_known(seen: int | None) -> None:
    waits = made.mutex(contended=9, waited=0.3 * SECOND, threads=2)
    advice = advised(made.profile(waits, realtime=seen))
    assert "mcs-spin" in [each.lock for each in advice.shortlist]
    assert not any("priorities" in remark for remark in advice.remarks)


def test_threads_with_real_time_priorities_need_a_lock_that_serves_by_them() -> None:
    """However contended: those that poll would starve a holder."""
    waits = made.mutex(held=1e6, contended=9, waited=SECOND, threads=2)
    advice = advised(made.profile(waits, realtime=3))
    assert [each.lock for each in advice.shortlist] == ["futex"]
    assert all(set(step.remaining) <= {"pthread", "futex"} for step in advice.steps)
    remark = next(remark for remark in advice.remarks if "priorities" in remark)
    assert remark.startswith("3 threads had real-time priorities")
    counts = [
        sum(lock.realtime == kind for lock in made.LOCKS) for kind in ("starves", "own order")
    ]
    assert f"under {counts[0]} others" in remark
    assert f"{counts[1]} serve waiters in an order of their own" in remark
    assert "that serve by priority satisfies step 6" in advice.conflicts[0]
    assert "mcs-spin" not in advice.tail_latency.text
