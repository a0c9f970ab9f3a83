"""Tests of the changes to a program, tail latency and lock sensitivity in an advice."""

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lockwright.advise import Advice, Candidate, Change, Gain, Gains, advise, brief
from lockwright.base.wording import either
from lockwright.profile.record import Creation, Profile
from lockwright.profile.summary import row as summary_row
from rich.console import Console

from . import examples
from .examples import SECOND


def advised(profile: Profile) -> Advice:
    return advise(profile, registry=examples.LOCKS)


def kinds(profile: Profile) -> list[str]:
    return [each.kind for each in advised(profile).changes]


@pytest.mark.parametrize(("waited", "wanted"), [(0.1, False), (0.12, True)])
def test_a_program_with_little_waiting_is_not_sensitive(waited: float, wanted: bool) -> None:
    """The limit is 0.105 s: 5 % of themselves and of two seconds of processor time."""
    shared = examples.mutex(contended=10, waited=waited * SECOND, threads=30)
    advice = advised(examples.profile(shared, threads_mean=30.0, threads_most=30))
    assert advice.sensitive is wanted
    assert advice.sentence.startswith("No lock will change much") is not wanted


@pytest.mark.parametrize(("runnable", "wanted"), [(2.5, False), (1.9, True), (1.8, True)])
def test_waiting_costs_nothing_while_other_threads_use_the_processors(
    runnable: float, wanted: bool
) -> None:
    """There are two processors."""
    shared = examples.mutex(contended=10, waited=SECOND, threads=30)
    profile = examples.profile(shared, threads_mean=30.0, threads_most=30, runnable=runnable)
    advice = advised(profile)
    assert advice.fired == ()
    assert advice.sensitive is wanted
    assert ("other threads used the processors" in advice.sentence) is not wanted


@pytest.mark.parametrize(("waits", "wanted"), [(59_000, False), (61_000, True)])
def test_sleeping_and_waking_have_a_cost(waits: int, wanted: bool) -> None:
    """The cost is relative to two seconds of processor time; a thread is always runnable."""
    shared = examples.mutex(contended=waits, waited=SECOND, threads=30)
    profile = examples.profile(shared, threads_mean=30.0, threads_most=30, runnable=2.5)
    advice = advised(profile)
    assert advice.fired == ()
    assert advice.sensitive is wanted


def test_the_sentence_names_the_bottleneck_and_the_mutex() -> None:
    mutex = examples.mutex(contended=9, waited=0.3 * SECOND, threads=2)
    sentence = advised(examples.profile(mutex)).sentence
    assert sentence.startswith("The bottleneck is high contention at hot; try ")


@pytest.mark.parametrize(
    ("waits", "runnable", "gains"), [(1_900, 8.0, False), (2_100, 8.0, True), (1_900, 1.8, None)]
)
def test_another_lock_gains_little_over_a_parking_one(
    waits: int, runnable: float, gains: bool | None
) -> None:
    """Threads wait only for preempted holders, in two seconds of processor time."""
    mutex = examples.mutex(entries=5000, held=4e4, contended=waits, waited=SECOND, threads=30)
    mutex = dataclasses.replace(mutex, preempted_holds=0.5)
    profile = examples.profile(mutex, threads_mean=30.0, threads_most=30, runnable=runnable)
    advice = advised(profile)
    assert [each.key for each in advice.fired] == ["holder preemption"] * (gains is not None)
    assert ("will gain little" in advice.sentence) is (gains is False)
    assert bool(advice.shortlist) is (gains is not False)
    assert ("; try " in advice.sentence) is (gains is not False)
    assert advice.sensitive


def test_the_sentence_names_the_unprofiled_reader_writer_locks() -> None:
    """The limit is 10,000 acquisitions a second of processor time."""
    few, many = (
        advised(examples.profile(examples.mutex(), rwlock_calls=calls))
        for calls in (19_000, 21_000)
    )
    assert "reader-writer" not in few.sentence
    assert "process-shared reader-writer locks 21,000 times" in many.sentence


def held(*sites: Any, held: float, waited: float = 0.5 * SECOND, **more: Any) -> Profile:
    fields: dict[str, Any] = {"threads": 2, "sites": sites} | more
    return examples.profile(examples.mutex(held=held, contended=100, waited=waited, **fields))


def test_one_long_section_should_be_smaller() -> None:
    long = examples.site("long", held=7e8, acquisitions=1000)
    short = examples.site("short", held=3e8)
    changes = advised(held(long, short, held=1e6)).changes
    expected = ["smaller section", "sharding", "reader-writer lock"]
    assert [each.kind for each in changes] == expected
    assert "long" in changes[0].text
    even = examples.site("long", held=5e8, acquisitions=1000)
    assert kinds(held(even, examples.site("other", held=5e8, acquisitions=1000), held=1e6)) == [
        "sharding"
    ]
    brief = examples.site("brief", held=7e6, acquisitions=1000)
    assert kinds(held(brief, held=7e3)) == ["sharding", "reader-writer lock"]
    assert kinds(held(long, held=1e6, waited=0.05 * SECOND)) == []


def test_a_short_section_shared_by_threads_may_be_an_atomic() -> None:
    """Before half of 220,000 acquisitions another thread held the mutex."""
    frequent: dict[str, Any] = {"entries": 220_000, "owner_changes": 0.5}
    assert kinds(held(held=50, **frequent)) == ["atomic", "sharding"]
    assert kinds(held(held=110, **frequent)) == ["sharding"]
    assert kinds(held(held=50, **(frequent | {"entries": 180_000}))) == ["sharding"]
    assert kinds(held(held=50, **(frequent | {"owner_changes": 0}))) == ["sharding"]
    assert kinds(held(held=50, **frequent, cond_waits=1)) == ["sharding"]
    sites = [examples.site(symbol) for symbol in "abcd"]
    assert kinds(held(*sites[:3], *sites[:3], held=50, **frequent)) == ["atomic", "sharding"]
    assert kinds(held(*sites, held=50, **frequent)) == ["sharding"]
    # The thread that has the processor takes it again and again, in two seconds of processor time.
    kept = held(held=50, entries=2.1e6, owner_changes=0.001)
    assert kinds(kept) == ["atomic", "sharding"]
    fewer = held(held=50, entries=1.9e6, owner_changes=0.001)
    assert kinds(fewer) == ["sharding"]
    some_long = dataclasses.replace(kept.mutexes[0].holding, p90=310)
    longer = dataclasses.replace(kept.mutexes[0], holding=some_long)
    assert kinds(dataclasses.replace(kept, mutexes=(longer,))) == ["sharding"]


@pytest.mark.parametrize(("waited", "runnable"), [(0.0, 1.0), (0.1, 1.0), (0.5, 2.5)])
def test_where_no_lock_changes_much_no_change_shortens_the_waiting(
    waited: float, runnable: float
) -> None:
    """Either little time is lost, or other threads use the processors meanwhile."""
    site = examples.site("long", held=7e8, acquisitions=1000)
    frequent: dict[str, Any] = {"entries": 220_000, "owner_changes": 0.5}
    mutex = examples.mutex(
        held=50, contended=10, waited=waited * SECOND, threads=30, sites=(site,), **frequent
    )
    # The same sections, of which nine of ten last 10.7 ns.
    short = {"p50": 10.7, "p90": 10.7}
    mutex = dataclasses.replace(mutex, holding=examples.distribution(1000, 7e5, **short))
    busy: dict[str, Any] = {"threads_mean": 30.0, "threads_most": 30, "runnable": runnable}
    advice = advised(examples.profile(mutex, **busy))
    assert advice.sentence.startswith("No lock will change much")
    assert (advice.changes, advice.shortlist) == ((), ())
    gaining = dataclasses.replace(mutex, waiting=examples.distribution(10, 0.1 * SECOND))
    advice = advised(examples.profile(gaining, **(busy | {"runnable": 1.0})))
    assert [each.kind for each in advice.changes] == ["smaller section", "atomic", "sharding"]


def test_a_smaller_section_has_the_figures_of_the_profile() -> None:
    site = examples.site("mixed", held=7e8, acquisitions=1000)
    mutex = examples.mutex(contended=100, waited=0.5 * SECOND, threads=2, sites=(site,))
    mutex = dataclasses.replace(
        mutex, holding=examples.distribution(1000, 7e5, p50=10.7, p99=8.2e6)
    )
    change = advised(examples.profile(mutex)).changes[0]
    assert change.kind == "smaller section"
    assert "Shorten the long sections" in change.text
    assert "700 µs on average, while half of all sections of it take 10.7 ns at most" in change.text
    figures = {each.quantity: each.value for each in change.evidence}
    assert figures["median of its sections (hold p50)"] == 10.7
    assert figures["99th percentile (hold p99)"] == 8.2e6
    row = summary_row(mutex)
    assert {"10.7 ns", "8.2 ms"} <= set(row)


def test_sections_that_are_long_by_preemption_are_not_to_be_shortened() -> None:
    """A hundredth of the holds, those that were preempted, take most of the time."""
    site = examples.site("work", held=7e8, acquisitions=1000)
    holding = examples.distribution(1000, 7e5, buckets=((10.0, 990.0), (7e7, 10.0)))
    mutex = examples.mutex(contended=100, waited=0.5 * SECOND, threads=2, sites=(site,))
    for preempted, wanted in ((0.01, False), (0.004, True)):
        changed = dataclasses.replace(mutex, holding=holding, preempted_holds=preempted)
        assert ("smaller section" in kinds(examples.profile(changed))) is wanted


def test_a_mutex_with_most_of_the_waiting_may_be_divided() -> None:
    mutex = examples.mutex(contended=100, waited=0.5 * SECOND, threads=2)
    other = examples.mutex(contended=100, waited=0.3 * SECOND, threads=2)
    assert kinds(examples.profile(mutex, other)) == ["sharding"]
    third = examples.mutex(contended=100, waited=0.4 * SECOND, threads=2)
    assert kinds(examples.profile(mutex, third)) == []


def test_futile_wake_ups() -> None:
    for futile, waits, wanted in ((200, 700, True), (200, 900, False), (90, 300, False)):
        mutex = examples.mutex(entries=10_000, cond_waits=waits, futile_wakeups=futile)
        assert kinds(examples.profile(mutex)) == (["signal"] if wanted else [])


def test_a_trylock_loop_should_be_a_lock() -> None:
    mutex = examples.mutex(entries=1000, failed_trylocks=300_000)
    assert kinds(examples.profile(mutex)) == ["lock"]
    shared = dataclasses.replace(mutex, threads=2)
    assert kinds(examples.profile(shared)) == ["sharding", "lock"]


@pytest.mark.parametrize(("entries", "wanted"), [(1100, True), (900, False)])
def test_the_lock_decides_the_tail_if_an_operation_is_one_section(
    entries: float, wanted: bool
) -> None:
    """The limit is half of two seconds of processor time."""
    mutex = examples.mutex(entries=entries, held=1e6, contended=9, waited=SECOND, threads=2)
    tail = advised(examples.profile(mutex)).tail_latency
    assert tail.one_section is wanted
    assert ("FIFO lock" in tail.text) is wanted


def test_without_waiting_there_is_no_tail_latency_advice() -> None:
    assert advised(examples.profile(examples.mutex())).tail_latency.one_section is None


def test_json() -> None:
    document = json.loads(advised(held(held=1e6)).to_json())
    assert document["format"] == "lockwright advice 1"
    assert len(document["diagnoses"]) == 9
    assert len(document["steps"]) == 6


def test_an_empty_profile_has_advice() -> None:
    advice = advised(examples.profile(duration=0, threads_mean=0, threads_most=0, cpu_user=0))
    assert advice.sensitive is False
    assert advice.fired == ()


def test_the_sentence_names_the_mutex_of_the_diagnosis() -> None:
    """It is not the mutex with the longest waits, as waiting is not the cost."""
    few = dataclasses.replace(examples.mutex(entries=3e5, contended=10, waited=1e6), name="few")
    many = dataclasses.replace(examples.mutex(entries=3e6), name="many")
    advice = advise(examples.profile(few, many, lock_calls=3.3e6), registry=examples.LOCKS)
    assert [each.key for each in advice.fired] == ["uncontended"]
    assert " at many;" in advice.sentence


@pytest.mark.parametrize("waited", [0, 0.055])
@pytest.mark.parametrize(
    "rule", ["handover", "page clearing", "fault handler", "memory contention"]
)
def test_without_a_loss_by_waiting_no_lock_is_named(rule: str, waited: float) -> None:
    """The limit is 0.11 s: 5 % of themselves and of two seconds of processor time."""
    advice = advised(bottleneck(rule, waited))
    assert [each.key for each in advice.fired] == [rule]
    assert advice.sensitive, "the wrong lock would cost"
    assert advice.sentence.startswith("No lock will change much: threads lost ")
    assert advice.fired[0].title in advice.sentence
    assert "try " not in advice.sentence
    assert advice.shortlist == ()
    assert advised(bottleneck(rule, 0.2)).shortlist


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("handover", "poll"),
        ("page clearing", "parallel creation"),
        ("fault handler", "reuse"),
        ("memory contention", "less memory"),
    ],
)
def test_a_bottleneck_suggests_a_change(rule: str, kind: str) -> None:
    """Whether or not another lock helps."""
    assert kinds(bottleneck(rule, 0)) == [kind]


def bottleneck(rule: str, waited: float) -> Profile:
    """Return a profile with that bottleneck and a mutex of many threads without contention."""
    shared: dict[str, Any] = {"contended": 10, "waited": waited * SECOND, "threads": 30}
    shared["entries"] = 10_000
    fields: dict[str, Any] = {"threads_mean": 30.0, "threads_most": 30}
    if rule == "handover":
        shared |= {"cond_waits": 5000}
    elif rule == "memory contention":
        fields |= {"touched": 1.7e9, "lock_calls": 1e5}
    elif rule == "fault handler":
        fields |= {"minor_faults": 300_000, "cpu_user": 1.5 * SECOND, "cpu_system": 0.5 * SECOND}
        fields["creation"] = Creation(**examples.CREATION)
    else:
        fields |= {"minor_faults": 50_000}
        one_thread = {"alive_most": 5000, "by_most": 1.0, "early": 1.0}
        fields["creation"] = Creation(**(examples.CREATION | one_thread))
    return examples.profile(examples.mutex(**shared), **fields)


@pytest.mark.parametrize(("processors", "wanted"), [(2, True), (64, False)])
def test_a_preempted_holder_costs_the_waiting_for_it(processors: int, wanted: bool) -> None:
    """Threads waited for 0.2 s, in two or 64 seconds of processor time."""
    mutex = examples.mutex(entries=5000, held=5.6e4, contended=3000, waited=2e8, threads=80)
    mutex = dataclasses.replace(mutex, preempted_holds=0.5)
    more: dict[str, Any] = {"threads_mean": 100.0, "threads_most": 100, "runnable": 99.0}
    used = processors * SECOND
    profile = examples.profile(mutex, processors=processors, cpu_user=used, **more)
    advice = advised(profile)
    assert [each.key for each in advice.fired] == ["holder preemption"]
    assert bool(advice.shortlist) is wanted


@pytest.mark.parametrize("threads", [None, 0])
def test_without_known_priorities_any_lock_may_be_named(threads: int | None) -> None:
    mutex = examples.mutex(contended=9, waited=0.3 * SECOND, threads=2)
    advice = advised(examples.profile(mutex, realtime=threads))
    assert any("mcs-spin" in step.remaining for step in advice.steps)
    assert not any("priorities" in remark for remark in advice.remarks)


def test_real_time_threads_need_a_lock_that_serves_by_priority() -> None:
    """Waiters that poll would starve a holder of lower priority."""
    mutex = examples.mutex(held=1e6, contended=9, waited=SECOND, threads=2)
    advice = advised(examples.profile(mutex, realtime=3))
    assert [each.lock for each in advice.shortlist] == ["futex"]
    assert all(set(step.remaining) <= {"pthread", "futex"} for step in advice.steps)
    remark = next(remark for remark in advice.remarks if "priorities" in remark)
    assert remark.startswith("3 threads had real-time priorities")
    starving, own_order = (
        sum(lock.realtime == kind for lock in examples.LOCKS) for kind in ("starves", "own order")
    )
    assert f"under {starving} others" in remark
    assert f"{own_order} serve waiters in an order of their own" in remark
    assert "that serve by priority satisfies step 6" in advice.conflicts[0]
    assert "mcs-spin" not in advice.tail_latency.text


def test_locks_that_gain_in_simulations_are_named() -> None:
    mutex = examples.mutex(held=1e6, contended=9, waited=SECOND, threads=2)
    profile = examples.profile(mutex)
    chosen = [Candidate("mcs-spin", "predicted", gain=1.3), Candidate("ttas", "predicted")]
    named = advise(profile, registry=examples.LOCKS, chosen=chosen)
    assert [each.lock for each in named.shortlist] == ["mcs-spin", "ttas"]
    assert named.sentence.endswith("; try mcs-spin or ttas.")


def test_where_no_lock_gains_none_is_named() -> None:
    mutex = examples.mutex(held=1e6, contended=9, waited=SECOND, threads=2)
    advice = advise(examples.profile(mutex), registry=examples.LOCKS, chosen=[])
    assert advice.lock_may_gain
    assert advice.shortlist == ()
    assert "no lock gains 5 % in simulations: keep the C library's mutex" in advice.sentence


def test_without_simulations_only_a_costly_wait_names_the_default_lock() -> None:
    """Failed trylocks cost without any waiting, and no lock is known to be safe against them."""
    waits = advised(examples.profile(examples.mutex(contended=9, waited=0.3 * SECOND, threads=2)))
    assert [each.lock for each in waits.shortlist] == ["futex"]
    tries = advised(examples.profile(examples.mutex(entries=1000, failed_trylocks=300_000)))
    assert tries.lock_may_gain
    assert tries.shortlist == ()
    for advice in (waits, tries):
        assert "simulated ('lockwright calibrate --machine-file here'" in advice.sentence


@pytest.mark.parametrize(("size", "number"), [(None, 2), (1, 1), (4, 2)])
def test_the_sentence_names_the_locks_that_are_listed(size: int | None, number: int) -> None:
    shared = examples.mutex(contended=10, waited=SECOND, threads=30)
    profile = examples.profile(shared, threads_mean=30.0, threads_most=30)
    chosen = [Candidate(name, "") for name in ("adaptive", "futex")]
    advice = advise(profile, size=size, chosen=chosen)
    text = io.StringIO()
    brief.show(Console(file=text, width=200), profile, advice, Path("p.json"), size)
    (measured,) = re.findall("--locks pthread,([^ ]*) ", text.getvalue())
    names = measured.split(",")
    assert len(names) == number
    assert advice.sentence.endswith(f"; try {either(names)}.")


@pytest.mark.parametrize(("gain", "is_shown"), [(1.2, True), (0.9, False), (None, True)])
def test_a_change_that_is_predicted_to_harm_is_not_in_the_short_output(
    gain: float | None, is_shown: bool
) -> None:
    profile = examples.profile(examples.mutex(contended=9, waited=0.3 * SECOND, threads=2))
    change = Change("sharding", None, "Divide the data.", ())
    predicted = Gains((Gain("sharding", 0, "with 8 mutexes", gain),))
    advice = dataclasses.replace(advised(profile), changes=(change,), predicted=predicted)
    text = io.StringIO()
    brief.show(Console(file=text, width=200), profile, advice, Path("p.json"))
    assert ("Divide the data." in text.getvalue()) is is_shown
