"""Each of the nine rules fires on one side of each of its thresholds, and not on the other."""

import dataclasses
from typing import Any

import pytest
from lockwright.advise import advise
from lockwright.advise.profile_figures import time_share_of_longest
from lockwright.profile.record import Creation, Distribution, Profile

from . import made
from .made import SECOND


def fired(profile: Profile) -> list[str]:
    """The keys of the bottlenecks that were found."""
    return [each.key for each in advise(profile, registry=made.LOCKS).fired]


def test_nothing_fires_where_nothing_happens() -> None:
    assert fired(made.profile()) == []
    assert fired(made.profile(made.mutex())) == []


def in_line(share: float, threads: int = 64, **more: Any) -> Profile:
    """So many of the threads, but for one, wait at one mutex at any time."""
    waited = share * (threads - 1) * SECOND
    hot = made.mutex(entries=1e4, held=9e4, contended=9000, waited=waited, threads=threads)
    usual: dict[str, Any] = {
        "processors": threads,
        "threads_most": threads,
        "threads_mean": float(threads),
    }
    usual["cpu_user"] = (1 - share) * threads * SECOND
    return made.profile(hot, **(usual | more))


@pytest.mark.parametrize("threads", [2, 8, 64])
def test_the_bands_of_contention(threads: int) -> None:
    """10 and 40 waiters of 64 threads, and as large a part of fewer threads."""
    for share, wanted in (
        (9.9 / 63, []),
        (10.1 / 63, ["high"]),
        (39.9 / 63, ["high"]),
        (40.1 / 63, ["extreme"]),
        (1.0, ["extreme"]),
    ):
        assert fired(in_line(share, threads)) == wanted, share


@pytest.mark.parametrize(("held", "wanted"), [(0.15, []), (0.17, ["high"])])
def test_waiting_for_a_processor_is_not_standing_in_line(held: float, wanted: list[str]) -> None:
    """Eight threads share two processors, and a mutex that is free has no line; with a processor
    for each, the time until a woken thread has the mutex is part of the line."""
    hot = made.mutex(entries=1e4, held=held * 1e5, contended=100, waited=3 * SECOND, threads=8)
    more: dict[str, Any] = {"threads_mean": 8.0, "threads_most": 8, "runnable": 8.0}
    assert fired(made.profile(hot, **more)) == wanted
    assert fired(made.profile(hot, processors=8, **more)) == ["high"]


def test_contention_that_costs_little_is_none() -> None:
    """Two threads of many meet often, and the others never wait."""
    for waited, wanted in ((0.049, []), (0.06, ["high"])):
        hot = made.mutex(entries=1e4, contended=100, waited=waited * SECOND, threads=2)
        assert fired(made.profile(hot, threads_mean=1.3, cpu_user=SECOND * 0.95)) == wanted


def test_one_record_of_many_mutexes_is_not_one_line() -> None:
    hot = made.mutex(contended=100, waited=SECOND, threads=2, instances=10)
    assert fired(made.profile(hot)) == []


@pytest.mark.parametrize(
    ("failed", "entries", "wanted"),
    [(210_000, 1000, True), (190_000, 1000, False), (4e5, 3.9e5, True), (4e5, 4.1e5, False)],
)
def test_trylocks_in_a_loop(failed: float, entries: float, wanted: bool) -> None:
    """More failures than entries, and a hundred thousand for each of the two seconds used."""
    hot = made.mutex(entries=entries, failed_trylocks=int(failed), trylocks=failed + entries)
    assert fired(made.profile(hot)) == (["trylock"] if wanted else [])


@pytest.mark.parametrize(
    ("calls", "contended", "wanted"),
    [(2.1e6, 0, True), (1.9e6, 0, False), (2.1e6, 80_000, True), (2.1e6, 120_000, False)],
)
def test_many_free_acquisitions(calls: float, contended: int, wanted: bool) -> None:
    hot = made.mutex(entries=calls, held=20, contended=contended, waited=1e6)
    found = fired(made.profile(hot, lock_calls=calls))
    assert found == (["uncontended"] if wanted else [])


@pytest.mark.parametrize(("free", "wanted"), [(1.9e6, ["high"]), (2.1e6, ["high", "uncontended"])])
def test_a_mutex_with_a_line_is_not_uncontended(free: float, wanted: list[str]) -> None:
    """However often the thread that has it takes it again before another is awake."""
    hot = made.mutex(entries=5e6, held=20, contended=100, waited=0.3 * SECOND, threads=2)
    profile = made.profile(hot, made.mutex(entries=free, held=20), lock_calls=5e6 + free)
    assert fired(profile) == wanted


def preempted(**more: Any) -> Profile:
    """Eight threads on two processors; a fifth of the holds of 1 ms become ten times as long."""
    buckets = ((1e6, 80.0), (1e7, 20.0))
    hot = made.mutex(entries=100, held=2.8e6, contended=10, waited=1e8, threads=8)
    usual: dict[str, Any] = {"threads_mean": 9.0, "involuntary": 200, "cpu_user": 2 * SECOND}
    share = more.pop("share", 0.2)
    changed: dict[str, Any] = {
        "preempted_holds": share,
        "holding": Distribution(100, 2.8e8, 100, buckets=buckets),
    }
    return made.profile(dataclasses.replace(hot, **changed), **(usual | more))


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, True),
        ({"threads_mean": 3.4}, False),
        ({"threads_mean": 3.6}, True),
        ({"runnable": 2.6, "threads_mean": 3.0}, True),
        ({"runnable": 2.4}, False),
        ({"involuntary": 41}, True),
        ({"involuntary": 39}, False),
        ({"share": 0.06}, True),
        ({"share": 0.04}, False),
    ],
)
def test_holders_that_lose_their_processor(changed: dict[str, Any], wanted: bool) -> None:
    """6 % of the holds, the longest, are 60 ms of a second; 4 % are 40 ms."""
    assert fired(preempted(**changed)) == (["holder preemption"] if wanted else [])


@pytest.mark.parametrize(
    ("waited", "mutexes", "wanted"), [(0.045, 1, []), (0.055, 1, [0]), (0.03, 2, [0, 1])]
)
def test_holders_that_nobody_waits_for_harm_nobody(
    waited: float, mutexes: int, wanted: list[int]
) -> None:
    """They are without a processor for 0.2 of a second, and what counts is summed over mutexes."""
    one = preempted().mutexes[0]
    wait = dataclasses.replace(one.waiting, total=waited * SECOND)
    many = (dataclasses.replace(one, waiting=wait) for _ in range(mutexes))
    found = advise(
        made.profile(*many, threads_mean=9.0, involuntary=200, runnable=8.0), registry=made.LOCKS
    ).fired
    assert [each.key for each in found] == ["holder preemption"] * bool(wanted)
    assert [index for each in found for index in each.mutexes] == wanted


def test_the_longest_part_of_a_distribution() -> None:
    times = Distribution(100, 2800, 100, buckets=((10.0, 80.0), (100.0, 20.0)))
    assert time_share_of_longest(times, 0.1) == pytest.approx(1000 / 2800)
    assert time_share_of_longest(times, 0.2) == pytest.approx(2000 / 2800)
    assert time_share_of_longest(times, 0.5) == pytest.approx(2300 / 2800)
    assert time_share_of_longest(times, 1) == pytest.approx(1)
    assert time_share_of_longest(Distribution(), 0.3) == 0.3


@pytest.mark.parametrize(
    ("waits", "entries", "late", "wanted"),
    [
        (5000, 40_000, 20_000, True),
        (1900, 10_000, 20_000, False),
        (2100, 10_000, 20_000, True),
        (5000, 51_000, 20_000, False),
        (5000, 40_000, 900, False),
        (5000, 40_000, 1100, True),
        (5000, 40_000, None, True),
    ],
)
def test_hand_over_to_sleepers(
    waits: int, entries: float, late: float | None, wanted: bool
) -> None:
    """Held for 1000 ns; a handover that was never seen is no reason against."""
    passed = made.distribution(100, late) if late else None
    hot = made.mutex(entries=entries, held=1000, cond_waits=waits, hand_over=passed)
    found = fired(made.profile(hot, cond_waits=waits, voluntary=waits))
    assert found == (["handover"] if wanted else [])


def test_the_evidence_is_of_the_mutex_that_it_concerns() -> None:
    """Another has more failed trylocks and waits, but is taken so often that they are few."""
    loop = made.mutex(entries=1000, failed_trylocks=300_000, cond_waits=3000)
    often = made.mutex(entries=1e6, failed_trylocks=400_000, cond_waits=5000)
    advice = advise(made.profile(often, loop), registry=made.LOCKS)
    assert [each.key for each in advice.fired] == ["trylock", "handover"]
    assert all(each.mutexes == (1,) for each in advice.fired)
    assert all(one.met is not False for each in advice.fired for one in each.evidence)


def test_many_mutexes_of_which_each_serves_few_waits_do_not_hand_over() -> None:
    """The program has a mutex and a condition variable for each thread or request."""
    each = [made.mutex(entries=2000, cond_waits=1000) for _ in range(9)]
    assert fired(made.profile(*each, cond_waits=9000)) == []
    assert fired(made.profile(made.mutex(entries=9000, cond_waits=9000, instances=9))) == []


def pages(**more: Any) -> Profile:
    creation: dict[str, Any] = {
        "created": 2100,
        "alive_most": 2100,
        "by_most": 0.95,
        "early": 0.9,
        "creators": 1,
    }
    faults = more.pop("minor_faults", 50_000)
    return made.profile(made.mutex(), creation=Creation(**(creation | more)), minor_faults=faults)


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, True),
        ({"alive_most": 1900}, False),
        ({"by_most": 0.85}, False),
        ({"early": 0.45}, False),
        ({"early": 0.55}, True),
        ({"minor_faults": 19_000}, False),
        ({"minor_faults": 21_000}, True),
    ],
)
def test_pages_of_mutexes_that_one_thread_creates(changed: dict[str, Any], wanted: bool) -> None:
    """20,000 faults of 1 us are a hundredth of two seconds."""
    assert fired(pages(**changed)) == (["page clearing"] if wanted else [])


def mapping(**more: Any) -> Profile:
    creation: dict[str, Any] = {
        "created": 5000,
        "alive_most": 10,
        "by_most": 0.5,
        "early": 0.1,
        "creators": 2,
    }
    for key in set(creation) & set(more):
        creation[key] = more.pop(key)
    usual: dict[str, Any] = {
        "minor_faults": 300_000,
        "cpu_user": 1.5 * SECOND,
        "cpu_system": 0.5 * SECOND,
    }
    return made.profile(made.mutex(), creation=Creation(**creation), **(usual | more))


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, True),
        ({"created": 990}, False),
        ({"created": 1010}, True),
        ({"by_most": 0.95}, False),
        ({"minor_faults": 190_000}, False),
        ({"minor_faults": 210_000}, True),
        ({"minor_faults": 30_000, "processors": 16, "threads_most": 16}, True),
        ({"minor_faults": 30_000, "processors": 16, "threads_most": 2}, False),
        ({"cpu_user": 1.65 * SECOND, "cpu_system": 0.35 * SECOND}, False),
    ],
)
def test_threads_that_meet_in_the_fault_handler(changed: dict[str, Any], wanted: bool) -> None:
    """A quarter of the time is the kernel's."""
    assert fired(mapping(**changed)) == (["fault handler"] if wanted else [])


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"touched": 1.7e9}, True),
        ({"touched": 1.5e9}, False),
        ({"touched": 1.7e9, "threads_mean": 1.5}, False),
        ({"touched": 1.7e9, "lock_calls": 19_000}, False),
        ({"touched": 1.7e9, "lock_calls": 21_000}, True),
    ],
)
def test_threads_that_wait_for_memory(changed: dict[str, Any], wanted: bool) -> None:
    usual: dict[str, Any] = {"lock_calls": 1e5}
    found = fired(made.profile(made.mutex(), **(usual | changed)))
    assert found == (["memory contention"] if wanted else [])


def test_what_cannot_be_measured_is_said_and_does_not_fire() -> None:
    advice = advise(made.profile(made.mutex(), lock_calls=1e5), registry=made.LOCKS)
    memory = advice.diagnoses[8]
    assert (memory.fired, memory.measurable) == (False, False)
    assert memory.evidence[0].value is None
    assert advice.remarks == ("memory contention is not measurable here",)
    assert advice.steps[4].answer == "not measurable here"


def test_from_outside_only_waiting_is_seen() -> None:
    """The process was sampled from outside while it ran."""
    hot = made.mutex(entries=1e4, contended=100, waited=0.3 * SECOND, threads=2)
    within = made.profile(hot, made.mutex(entries=3e6, held=20), lock_calls=3e6)
    assert fired(within) == ["high", "uncontended"]
    advice = advise(dataclasses.replace(within, mechanism="looks"), registry=made.LOCKS)
    assert [each.key for each in advice.fired] == ["high"]
    assert [each.measurable for each in advice.diagnoses] == [True, True] + [False] * 7


def test_every_rule_has_evidence_with_a_source() -> None:
    for each in advise(in_line(0.3), registry=made.LOCKS).diagnoses:
        deciding = [one for one in each.evidence if one.met is not None]
        assert deciding, each.key
        assert all(one.source and one.threshold is not None for one in deciding)
        assert each.fired == all(one.met for one in deciding), each.key
