"""Tests of the six questions, each of which narrows down the locks, and of their conflicts."""

import dataclasses
from typing import Any

import pytest
from lockwright.advise import Advice, advise
from lockwright.preload.locks import Registry
from lockwright.profile.record import Creation, Profile

from . import examples
from .examples import SECOND


def advised(profile: Profile, *, nodes: int | None = None) -> Advice:
    if nodes is not None:
        profile = dataclasses.replace(profile, provenance={"numa nodes": nodes})
    return advise(profile, registry=examples.LOCKS, size=3)


def contended_profile(share: float, **more: Any) -> Profile:
    """Return a profile of 64 threads on 64 processors, of which `share` wait for a mutex."""
    threads = more.pop("threads", 64)
    waited = share * (threads - 1) * SECOND
    mutex = examples.mutex(held=1e6, contended=900, waited=waited, threads=threads)
    usual: dict[str, Any] = {
        "processors": 64,
        "threads_most": threads,
        "threads_mean": float(threads),
    }
    return examples.profile(mutex, **(usual | more))


def test_extreme_contention_alone_leads_to_hierarchical_locks() -> None:
    """The answers for upscaledb are no, no, no, no, no, extreme (TOCS 2019, figure 7)."""
    advice = advised(contended_profile(0.9), nodes=8)
    assert [step.answer for step in advice.steps] == [
        "no",
        "no",
        "no",
        "no",
        "not measurable here",
        "extreme",
    ]
    assert advice.steps[0].excluded == ("pthread",)
    assert advice.steps[5].remaining == ("hmcs", "c-bo-mcs-stp")
    assert advice.conflicts == ()


def test_high_contention_leaves_no_light_lock_and_none_that_parks() -> None:
    advice = advised(contended_profile(0.3))
    assert advice.steps[5].remaining == ("mcs-spin", "hmcs", "malth-spin", "mcs-timepub")


def test_one_node_excludes_no_lock_as_not_hierarchical() -> None:
    advice = advised(contended_profile(0.9), nodes=1)
    assert advice.steps[5].remaining == advised(contended_profile(0.3)).steps[5].remaining
    assert "one NUMA node" in advice.steps[5].rule


def test_little_contention_leaves_light_locks() -> None:
    advice = advised(examples.profile(examples.mutex()))
    assert advice.steps[5].answer == "low"
    assert advice.steps[5].remaining == ("futex", "ttas", "backoff", "ticket")


def test_threads_that_block_exclude_direct_handover_to_spinners() -> None:
    advice = advised(examples.profile(examples.mutex(), cond_waits=3000, voluntary=3000))
    assert advice.steps[1].answer == "yes"
    assert advice.steps[1].excluded == ("ticket", "mcs-spin")


def test_sleeping_for_a_mutex_does_not_count_as_blocking() -> None:
    """The limit is below 2,000 calls a second on two processors."""
    for contended, wanted in ((0, "yes"), (3000, "no")):
        waits = examples.mutex(entries=1e5, contended=contended)
        assert advised(examples.profile(waits, voluntary=4000)).steps[1].answer == wanted


def test_many_mutexes_exclude_locks_with_memory_outside() -> None:
    creation = Creation(created=3000, alive_most=3000)
    advice = advised(examples.profile(examples.mutex(), creation=creation))
    assert advice.steps[2].answer == "yes"
    assert advice.steps[2].excluded == ("hmcs", "c-bo-mcs-stp", "mcs-timepub")


def test_a_step_that_excludes_all_locks_is_set_aside() -> None:
    """According to the papers, no lock suits both many mutexes and extreme contention."""
    creation = Creation(created=3000, alive_most=3000)
    advice = advised(contended_profile(0.9, creation=creation), nodes=8)
    assert len(advice.conflicts) == 1
    assert "step 3 (no lock that needs memory" in advice.conflicts[0]
    assert "step 6 (hierarchical locks); step 6 is set aside" in advice.conflicts[0]
    assert advice.steps[5].set_aside == advice.conflicts[0]
    assert advice.steps[5].remaining == advice.steps[4].remaining == advice.steps[2].remaining


def test_parking_has_precedence_over_contention() -> None:
    """Extreme contention, memory and many threads lead to parking, as for mysql (table 17)."""
    profile = contended_profile(0.9, threads=200, involuntary=100_000, touched=2e9, lock_calls=1e6)
    advice = advised(profile, nodes=8)
    assert advice.steps[0].answer == "yes"
    assert advice.steps[4].remaining == ("malth-stp",)
    assert "step 5 (locks with low memory traffic)" in advice.conflicts[0]


@pytest.mark.parametrize("known", [True, False])
def test_sleeping_waiters_count_as_runnable_under_a_polling_lock(known: bool) -> None:
    """Eight threads run on two processors, and on eight."""
    more = {"wanting": 7.0, "runnable": 1.0} if known else {"cpu_user": SECOND}
    for processors in (2, 8):
        advice = advised(contended_profile(3 / 7, threads=8, **(more | {"processors": processors})))
        assert advice.steps[0].answer == ("yes" if processors == 2 else "no")


def test_the_baseline_is_left_but_not_named() -> None:
    shared = examples.mutex(contended=10, waited=SECOND, threads=30)
    profile = examples.profile(shared, threads_mean=30.0, involuntary=1000)
    advice = advise(profile, registry=examples.LOCKS, size=99)
    assert advice.steps[5].remaining == ("pthread", "futex")
    assert advice.baseline == "pthread"
    assert "pthread" not in [each.lock for each in advice.shortlist]


def test_a_build_without_a_lock_for_a_step() -> None:
    rows = [row for row in examples.LOCKS.rows if row["name"] == "ttas"]
    registry = Registry(examples.LOCKS.directory, rows)
    advice = advise(contended_profile(0.9), registry=registry)
    assert "none of the locks built here satisfies step 6" in advice.conflicts[0]


def test_threads_without_processors_are_over_subscribed() -> None:
    """Two threads had half a processor of two: others had the rest."""
    hot = examples.mutex(contended=900, waited=0.5 * SECOND, threads=2)
    more: dict[str, Any] = {"processors": 2, "runnable": 2.0, "wanting": 2.0}
    crowded = advised(examples.profile(hot, cpu_user=0.5 * SECOND, **more))
    assert crowded.steps[0].answer == "yes"
    assert "the threads had 0.50 together" in crowded.steps[0].reason
    assert any("the threads had 0.50 together" in remark for remark in crowded.remarks)
    quiet = advised(examples.profile(hot, cpu_user=1.9 * SECOND, **more))
    assert quiet.steps[0].answer == "no"
    assert not any("together" in remark for remark in quiet.remarks)


def test_each_step_lists_its_excluded_locks() -> None:
    advice = advised(contended_profile(0.9, cond_waits=1_000_000, voluntary=1_000_000))
    remaining = set(examples.LOCKS.names)
    for step in advice.steps:
        assert set(step.remaining) | set(step.excluded) == remaining
        remaining = set(step.remaining)
