"""Tests of the nine rules: each fires on one side only of each of its thresholds."""

import dataclasses
from typing import Any

import pytest
from lockwright.advise import advise
from lockwright.advise.profile_figures import time_share_of_longest
from lockwright.profile.record import Creation, Distribution, Profile

from . import examples
from .examples import SECOND


def fired(profile: Profile) -> list[str]:
    """Return the keys of the diagnosed bottlenecks."""
    return [each.key for each in advise(profile, registry=examples.LOCKS).fired]


def test_no_rule_fires_for_an_idle_program() -> None:
    assert fired(examples.profile()) == []
    assert fired(examples.profile(examples.mutex())) == []


def contended_profile(share: float, threads: int = 64, **more: Any) -> Profile:
    """Return a profile in which that share of all threads but one waits for a mutex."""
    waited = share * (threads - 1) * SECOND
    mutex = examples.mutex(entries=1e4, held=9e4, contended=9000, waited=waited, threads=threads)
    usual: dict[str, Any] = {
        "processors": threads,
        "threads_most": threads,
        "threads_mean": float(threads),
    }
    usual["cpu_user"] = (1 - share) * threads * SECOND
    return examples.profile(mutex, **(usual | more))


@pytest.mark.parametrize("threads", [2, 8, 64])
def test_degrees_of_contention(threads: int) -> None:
    """The limits are 10 and 40 waiters of 64 threads, in proportion for fewer threads."""
    for share, wanted in (
        (9.9 / 63, []),
        (10.1 / 63, ["high"]),
        (39.9 / 63, ["high"]),
        (40.1 / 63, ["extreme"]),
        (1.0, ["extreme"]),
    ):
        assert fired(contended_profile(share, threads)) == wanted, share


@pytest.mark.parametrize(("held", "wanted"), [(0.15, []), (0.17, ["high"])])
def test_waiting_for_a_processor_is_not_contention(held: float, wanted: list[str]) -> None:
    """Eight threads wait for two processors while the mutex is free; with a processor for each,
    the time until a woken thread has the mutex is contention."""
    times: dict[str, Any] = {"held": held * 1e5, "waited": 3 * SECOND}
    mutex = examples.mutex(entries=1e4, contended=100, threads=8, **times)
    more: dict[str, Any] = {"threads_mean": 8.0, "threads_most": 8, "runnable": 8.0}
    assert fired(examples.profile(mutex, **more)) == wanted
    assert fired(examples.profile(mutex, processors=8, **more)) == ["high"]


def test_contention_of_little_cost_does_not_count() -> None:
    """Two threads of many contend often, and the others never wait."""
    for waited, wanted in ((0.049, []), (0.06, ["high"])):
        mutex = examples.mutex(entries=1e4, contended=100, waited=waited * SECOND, threads=2)
        assert fired(examples.profile(mutex, threads_mean=1.3, cpu_user=SECOND * 0.95)) == wanted


def test_waits_for_many_mutexes_of_one_site_are_not_one_queue() -> None:
    mutex = examples.mutex(contended=100, waited=SECOND, threads=2, instances=10)
    assert fired(examples.profile(mutex)) == []


@pytest.mark.parametrize(
    ("failed", "entries", "wanted"),
    [(210_000, 1000, True), (190_000, 1000, False), (4e5, 3.9e5, True), (4e5, 4.1e5, False)],
)
def test_trylock_loop(failed: float, entries: float, wanted: bool) -> None:
    """There are more failures than entries, and 100,000 for each second of processor time."""
    mutex = examples.mutex(entries=entries, failed_trylocks=int(failed), trylocks=failed + entries)
    assert fired(examples.profile(mutex)) == (["trylock"] if wanted else [])


@pytest.mark.parametrize(
    ("calls", "contended", "wanted"),
    [(2.1e6, 0, True), (1.9e6, 0, False), (2.1e6, 80_000, True), (2.1e6, 120_000, False)],
)
def test_many_uncontended_acquisitions(calls: float, contended: int, wanted: bool) -> None:
    mutex = examples.mutex(entries=calls, held=20, contended=contended, waited=1e6)
    profile = examples.profile(mutex, lock_calls=calls)
    assert fired(profile) == (["uncontended"] if wanted else [])


@pytest.mark.parametrize(("free", "wanted"), [(1.9e6, ["high"]), (2.1e6, ["high", "uncontended"])])
def test_a_mutex_with_waiters_is_not_uncontended(free: float, wanted: list[str]) -> None:
    """The holder acquires it again many times before a woken waiter runs."""
    mutex = examples.mutex(entries=5e6, held=20, contended=100, waited=0.3 * SECOND, threads=2)
    profile = examples.profile(mutex, examples.mutex(entries=free, held=20), lock_calls=5e6 + free)
    assert fired(profile) == wanted


def preempted(**more: Any) -> Profile:
    """Return a profile of eight threads on two processors; a fifth of the holds are preempted."""
    buckets = ((1e6, 80.0), (1e7, 20.0))
    mutex = examples.mutex(entries=100, held=2.8e6, contended=10, waited=1e8, threads=8)
    usual: dict[str, Any] = {"threads_mean": 9.0, "involuntary": 200, "cpu_user": 2 * SECOND}
    share = more.pop("share", 0.2)
    changed: dict[str, Any] = {
        "preempted_holds": share,
        "holding": Distribution(100, 2.8e8, 100, buckets=buckets),
    }
    return examples.profile(dataclasses.replace(mutex, **changed), **(usual | more))


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
def test_holder_preemption(changed: dict[str, Any], wanted: bool) -> None:
    """The longest 6 % of the holds take 60 ms of a second, 4 % take 40 ms."""
    assert fired(preempted(**changed)) == (["holder preemption"] if wanted else [])


@pytest.mark.parametrize(
    ("waited", "mutexes", "wanted"), [(0.045, 1, []), (0.055, 1, [0]), (0.03, 2, [0, 1])]
)
def test_preempted_holders_without_waiters_do_not_count(
    waited: float, mutexes: int, wanted: list[int]
) -> None:
    """They are preempted for 0.2 of a second; the waiting is summed over mutexes."""
    mutex = preempted().mutexes[0]
    wait = dataclasses.replace(mutex.waiting, total=waited * SECOND)
    many = (dataclasses.replace(mutex, waiting=wait) for _ in range(mutexes))
    profile = examples.profile(*many, threads_mean=9.0, involuntary=200, runnable=8.0)
    diagnoses = advise(profile, registry=examples.LOCKS).fired
    assert [each.key for each in diagnoses] == ["holder preemption"] * bool(wanted)
    assert [index for each in diagnoses for index in each.mutexes] == wanted


def test_time_share_of_the_longest_holds() -> None:
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
def test_handovers_to_sleepers(
    waits: int, entries: float, late: float | None, wanted: bool
) -> None:
    """The mutex is held for 1000 ns; the rule does not require a recorded handover."""
    hand_over = examples.distribution(100, late) if late else None
    mutex = examples.mutex(entries=entries, held=1000, cond_waits=waits, hand_over=hand_over)
    profile = examples.profile(mutex, cond_waits=waits, voluntary=waits)
    assert fired(profile) == (["handover"] if wanted else [])


def test_the_evidence_is_that_of_the_diagnosed_mutex() -> None:
    """Another mutex has more failed trylocks and waits, but few in relation to its acquisitions."""
    loop = examples.mutex(entries=1000, failed_trylocks=300_000, cond_waits=3000)
    frequent = examples.mutex(entries=1e6, failed_trylocks=400_000, cond_waits=5000)
    advice = advise(examples.profile(frequent, loop), registry=examples.LOCKS)
    assert [each.key for each in advice.fired] == ["trylock", "handover"]
    assert all(each.mutexes == (1,) for each in advice.fired)
    assert all(item.met is not False for each in advice.fired for item in each.evidence)


def test_few_condition_waits_for_each_of_many_mutexes_are_no_handovers() -> None:
    """The program has a mutex and a condition variable for each thread or request."""
    mutexes = [examples.mutex(entries=2000, cond_waits=1000) for _ in range(9)]
    assert fired(examples.profile(*mutexes, cond_waits=9000)) == []
    assert fired(examples.profile(examples.mutex(entries=9000, cond_waits=9000, instances=9))) == []


def page_clearing(**more: Any) -> Profile:
    creation: dict[str, Any] = {
        "created": 2100,
        "alive_most": 2100,
        "by_most": 0.95,
        "early": 0.9,
        "creators": 1,
    }
    faults = more.pop("minor_faults", 50_000)
    created = Creation(**(creation | more))
    return examples.profile(examples.mutex(), creation=created, minor_faults=faults)


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
def test_page_clearing(changed: dict[str, Any], wanted: bool) -> None:
    """20,000 faults of 1 us are 1 % of two seconds."""
    assert fired(page_clearing(**changed)) == (["page clearing"] if wanted else [])


def page_faults(**more: Any) -> Profile:
    creation = {key: more.pop(key, value) for key, value in examples.CREATION.items()}
    usual: dict[str, Any] = {
        "minor_faults": 300_000,
        "cpu_user": 1.5 * SECOND,
        "cpu_system": 0.5 * SECOND,
    }
    return examples.profile(examples.mutex(), creation=Creation(**creation), **(usual | more))


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
def test_fault_handler(changed: dict[str, Any], wanted: bool) -> None:
    """The kernel uses a quarter of the processor time."""
    assert fired(page_faults(**changed)) == (["fault handler"] if wanted else [])


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
def test_memory_contention(changed: dict[str, Any], wanted: bool) -> None:
    usual: dict[str, Any] = {"lock_calls": 1e5}
    profile = examples.profile(examples.mutex(), **(usual | changed))
    assert fired(profile) == (["memory contention"] if wanted else [])


def test_a_missing_measurement_is_reported_and_does_not_fire() -> None:
    advice = advise(examples.profile(examples.mutex(), lock_calls=1e5), registry=examples.LOCKS)
    memory = advice.diagnoses[8]
    assert (memory.fired, memory.measurable) == (False, False)
    assert memory.evidence[0].value is None
    assert advice.remarks == ("memory contention is not measurable here",)
    assert advice.steps[4].answer == "not measurable here"


def test_a_sampled_process_has_only_waiting_figures() -> None:
    mutex = examples.mutex(entries=1e4, contended=100, waited=0.3 * SECOND, threads=2)
    profile = examples.profile(mutex, examples.mutex(entries=3e6, held=20), lock_calls=3e6)
    assert fired(profile) == ["high", "uncontended"]
    advice = advise(dataclasses.replace(profile, mechanism="looks"), registry=examples.LOCKS)
    assert [each.key for each in advice.fired] == ["high"]
    assert [each.measurable for each in advice.diagnoses] == [True, True] + [False] * 7


def test_every_rule_has_evidence_with_a_source() -> None:
    for each in advise(contended_profile(0.3), registry=examples.LOCKS).diagnoses:
        decisive = [item for item in each.evidence if item.met is not None]
        assert decisive, each.key
        assert all(item.source and item.threshold is not None for item in decisive)
        assert each.fired == all(item.met for item in decisive), each.key
