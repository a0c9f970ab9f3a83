"""The six questions narrow the locks down in turn, and say where they contradict each other."""

import dataclasses
from typing import Any

import pytest
from lockwright.advise import Advice, advise
from lockwright.preload.locks import Registry
from lockwright.profile.record import Creation, Profile

from . import made
from .made import SECOND


def advised(profile: Profile, *, nodes: int | None = None) -> Advice:
    if nodes is not None:
        profile = dataclasses.replace(profile, provenance={"numa nodes": nodes})
    return advise(profile, registry=made.LOCKS, size=3)


def hot(share: float, **more: Any) -> Profile:
    """Return a profile of 64 threads on as many processors, of which `share` wait in the queue."""
    threads = more.pop("threads", 64)
    waited = share * (threads - 1) * SECOND
    contended = made.mutex(held=1e6, contended=900, waited=waited, threads=threads)
    usual: dict[str, Any] = {
        "processors": 64,
        "threads_most": threads,
        "threads_mean": float(threads),
    }
    return made.profile(contended, **(usual | more))


def test_extreme_contention_alone_leads_to_hierarchical_locks() -> None:
    """The papers' example, upscaledb: no, no, no, no, no, extreme (TOCS 2019, figure 7)."""
    advice = advised(hot(0.9), nodes=8)
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
    assert [each.lock for each in advice.shortlist] == ["hmcs", "c-bo-mcs-stp"]
    assert advice.conflicts == ()


def test_high_contention_leaves_no_light_lock_and_none_that_parks() -> None:
    advice = advised(hot(0.3))
    assert advice.steps[5].remaining == ("mcs-spin", "hmcs", "malth-spin", "mcs-timepub")


def test_one_node_gives_a_hierarchical_lock_nothing_to_keep_to() -> None:
    advice = advised(hot(0.9), nodes=1)
    assert advice.steps[5].remaining == advised(hot(0.3)).steps[5].remaining
    assert "one NUMA node" in advice.steps[5].rule


def test_little_contention_leaves_light_locks() -> None:
    advice = advised(made.profile(made.mutex()))
    assert advice.steps[5].answer == "low"
    assert advice.steps[5].remaining == ("futex", "ttas", "backoff", "ticket")


def test_threads_that_block_rule_out_handing_over_to_spinners() -> None:
    advice = advised(made.profile(made.mutex(), cond_waits=3000, voluntary=3000))
    assert advice.steps[1].answer == "yes"
    assert advice.steps[1].excluded == ("ticket", "mcs-spin")


def test_sleeping_for_a_mutex_is_no_other_blocking() -> None:
    """2,000 calls a second are many on two processors."""
    for contended, wanted in ((0, "yes"), (3000, "no")):
        waits = made.mutex(entries=1e5, contended=contended)
        assert advised(made.profile(waits, voluntary=4000)).steps[1].answer == wanted


def test_many_mutexes_rule_out_memory_beside_them() -> None:
    creation = Creation(created=3000, alive_most=3000)
    advice = advised(made.profile(made.mutex(), creation=creation))
    assert advice.steps[2].answer == "yes"
    assert advice.steps[2].excluded == ("hmcs", "c-bo-mcs-stp", "mcs-timepub")


def test_a_step_that_no_lock_is_left_for_is_named_and_set_aside() -> None:
    """Many mutexes and extreme contention, of which the papers say that no lock answers both."""
    creation = Creation(created=3000, alive_most=3000)
    advice = advised(hot(0.9, creation=creation), nodes=8)
    assert len(advice.conflicts) == 1
    assert "step 3 (no lock that needs memory" in advice.conflicts[0]
    assert "step 6 (hierarchical locks); step 6 is set aside" in advice.conflicts[0]
    assert advice.steps[5].set_aside == advice.conflicts[0]
    assert advice.steps[5].remaining == advice.steps[4].remaining == advice.steps[2].remaining


def test_parking_comes_before_the_answer_to_contention() -> None:
    """The case is mysql (TOCS 2019, table 17): extreme contention, memory and many threads lead to
    parking.
    """
    profile = hot(0.9, threads=200, involuntary=100_000, touched=2e9, lock_calls=1e6)
    advice = advised(profile, nodes=8)
    assert advice.steps[0].answer == "yes"
    assert advice.steps[4].remaining == ("malth-stp",)
    assert [each.lock for each in advice.shortlist] == ["malth-stp"]
    assert "step 5 (locks with low memory traffic)" in advice.conflicts[0]


def test_more_threads_than_processors_put_the_lock_first_that_the_papers_do() -> None:
    profile = hot(0.3, threads=200, involuntary=100_000)
    advice = advised(profile)
    assert [each.lock for each in advice.shortlist] == ["malth-stp", "mcs-timepub", "c-bo-mcs-stp"]
    assert advice.shortlist[0].reason == "crowded"  # what it states of the case


@pytest.mark.parametrize("known", [True, False])
def test_those_that_sleep_for_a_mutex_would_want_to_run_under_a_lock_that_polls(
    known: bool,
) -> None:
    """Eight threads on two processors, and with a processor for each."""
    more = {"wanting": 7.0, "runnable": 1.0} if known else {"cpu_user": SECOND}
    for processors, first in ((2, "malth-stp"), (8, "mcs-spin")):
        advice = advised(hot(3 / 7, threads=8, **(more | {"processors": processors})))
        assert advice.steps[0].answer == ("yes" if processors == 2 else "no")
        assert advice.shortlist[0].lock == first


def test_fifo_locks_that_park_come_last_of_those() -> None:
    profile = hot(0.3, threads=200, involuntary=100_000)
    names = [each.lock for each in advise(profile, registry=made.LOCKS, size=99).shortlist]
    assert names[-1] == "mcs-stp"
    assert "pthread" not in names


def test_the_baseline_stands_beside() -> None:
    """Also where the steps leave it."""
    shared = made.mutex(contended=10, waited=SECOND, threads=30)
    many = made.profile(shared, threads_mean=30.0, involuntary=1000)
    advice = advise(many, registry=made.LOCKS, size=99)
    assert advice.steps[5].remaining == ("pthread", "futex")
    assert advice.baseline == "pthread"
    assert [each.lock for each in advice.shortlist] == ["futex"]


def test_a_question_that_no_lock_of_the_build_answers() -> None:
    """A build of few locks."""
    few = Registry(made.LOCKS.directory, [r for r in made.LOCKS.rows if r["name"] == "ttas"])
    advice = advise(hot(0.9), registry=few)
    assert "none of the locks built here satisfies step 6" in advice.conflicts[0]
    assert [each.lock for each in advice.shortlist] == ["ttas"]


def test_each_step_says_what_falls_out_and_adds_up() -> None:
    advice = advised(hot(0.9, cond_waits=1_000_000, voluntary=1_000_000))
    left = set(made.LOCKS.names)
    for step in advice.steps:
        assert set(step.remaining) | set(step.excluded) == left
        left = set(step.remaining)
