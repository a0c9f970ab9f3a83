"""The lock that `compare` and `tune` recommend, and what they say of it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from advise import examples
from lockwright.compare import safest
from lockwright.compare.experiment import ranking
from lockwright.compare.verdict import Verdict, decide
from lockwright.preload.locks import Registry
from lockwright.tune import outcome, race
from lockwright.tune.preparation import Preparation
from lockwright.tune.race import RaceRuns

from . import test_stats, test_tune_race

PARKS: dict[str, Any] = {
    "parking": True,
    "survives_oversubscription": True,
    "waiting": "spin then park",
}
LOCKS = Registry(
    examples.LOCKS.directory,
    [
        examples.lock("pthread", **PARKS),
        examples.lock("spins"),
        examples.lock("spins-fifo", fifo=True),
        examples.lock("parks", **PARKS),
        examples.lock("parks-fifo", fifo=True, **PARKS),
        examples.lock("parks-outside", bytes_per_mutex_outside=64, fifo=True, **PARKS),
        examples.lock("the-default", is_default=True, bytes_per_node=64, **PARKS),
    ],
)


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safest, "known_locks", lambda: {lock.name: lock for lock in LOCKS})


def compared(values: Mapping[str, Sequence[float]]) -> Verdict:
    plan = test_stats.plan(tuple(values))
    return decide(plan, [ranking(plan, test_stats.runs(**values), 4)])


def tuned(seconds: Mapping[str, Sequence[float]]) -> Verdict:
    plan = test_tune_race.plan(*(lock for lock in seconds if lock != "pthread"))
    records = test_tune_race.runs(seconds)
    runs = RaceRuns(plan, 0, records)
    ended = runs.ended(runs.standing())
    result = outcome.outcome(plan, records, 0, race.TIME_UP if ended is None else ended)
    return outcome.decide(plan, [result], Preparation(()))


def recommended(verdict: Verdict) -> str:
    assert verdict.heading == "Use it:"
    assert verdict.command is not None
    found = re.search(r"--lock (\S+)", verdict.command)
    assert found is not None
    return found[1]


#: Rates of tied locks: each is twice the baseline's, and they differ by less than their noise.
BASE = [10.0, 10.1, 9.9]
TIED = {
    "spins": [20.3, 20.2, 20.1],
    "spins-fifo": [20.1, 20.3, 20.0],
    "parks-outside": [20.0, 20.1, 20.2],
    "parks": [19.9, 20.3, 20.1],
    "parks-fifo": [20.2, 19.9, 20.2],
    "the-default": [20.0, 20.2, 20.1],
}


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["spins", "spins-fifo"], "spins-fifo"),
        (["spins", "parks"], "parks"),
        (["spins", "parks", "parks-fifo"], "parks-fifo"),
        (["spins", "parks-outside", "parks-fifo"], "parks-fifo"),
        (["spins", "parks-outside", "parks"], "parks-outside"),
        (["spins", "parks-fifo", "the-default"], "the-default"),
    ],
)
def test_the_safest_of_tied_locks_is_recommended(names: list[str], chosen: str) -> None:
    """The traits decide: it parks, is the default lock, is fair, needs no memory outside."""
    verdict = compared({"pthread": BASE} | {name: TIED[name] for name in names})
    assert verdict.sentence.startswith("spins is best at 4 threads: 2.0")
    assert recommended(verdict) == chosen
    others = [name for name in names if name != "spins"]
    one = f"Not shown to be worse is {chosen}, which is safer: "
    several = f"; {chosen} is the safest of these: "
    assert (one if len(others) == 1 else several) in verdict.sentence
    assert all(name in verdict.sentence for name in others)


def test_the_reason_names_the_traits() -> None:
    sentence = compared({"pthread": BASE, "spins": TIED["spins"], "parks-fifo": TIED["parks-fifo"]})
    assert sentence.sentence.endswith(
        ". Not shown to be worse is parks-fifo, which is safer: its waiters park,"
        " it is fair (FIFO), it needs no memory outside the mutex."
    )


@pytest.mark.parametrize(
    "parks",
    [[18.0, 18.1, 18.0], [19.5, 19.4, 19.3], [60.0, 20.0, 6.0]],
    ids=["10 % behind", "worse in each round", "not shown to be better than pthread"],
)
def test_a_safer_lock_that_is_not_tied_is_not_recommended(parks: list[float]) -> None:
    # With these the deviation of the median lock is small.
    slow = {"spins-fifo": [5.0, 5.1, 5.0], "parks-fifo": [5.1, 5.0, 5.0]}
    values = {"pthread": BASE, "spins": [20.3, 20.2, 20.1], "parks": parks}
    verdict = compared(values | slow)
    assert verdict.sentence.startswith("spins is best at 4 threads")
    assert recommended(verdict) == "spins"
    assert "safest" not in verdict.sentence


def test_a_recommended_lock_that_spins_has_a_caution() -> None:
    verdict = compared({"pthread": BASE, "spins": TIED["spins"]})
    assert recommended(verdict) == "spins"
    assert "With more threads than processors spins may lose most of its" in verdict.sentence
    verdict = compared({"pthread": BASE, "parks": TIED["parks"]})
    assert "With more threads than processors" not in verdict.sentence


def test_the_race_recommends_the_safest_of_the_remaining_locks() -> None:
    around = test_tune_race.around
    seconds = {
        "pthread": around(1.0, 12),
        "spins": around(0.5, 12, 2),
        "parks": around(0.501, 12, 4),
        "parks-fifo": around(0.9, 12, 5),
    }
    verdict = tuned(seconds)
    assert verdict.sentence.startswith("spins is best: 2.00 times as fast as pthread")
    assert recommended(verdict) == "parks"
    assert "Not shown to be worse is parks, which is safer: its waiters park" in verdict.sentence
    del seconds["parks"]
    verdict = tuned(seconds)
    assert recommended(verdict) == "spins"
    assert "With more threads than processors spins may lose" in verdict.sentence


@pytest.mark.parametrize("judge", [compared, tuned])
def test_what_may_be_chance_is_settled_and_not_used(judge: object) -> None:
    """Neither has a command that uses a lock. Both say what happens to one whose waiters spin."""
    assert callable(judge)
    rates = judge is compared
    values = {
        "pthread": [10.0, 14.0, 8.0],
        "spins": [15.0, 17.0, 13.0],
        "parks": [13.0, 12.0, 14.0],
    }
    if not rates:
        values = {lock: [1 / value for value in each] for lock, each in values.items()}
    verdict = judge(values)
    assert verdict.heading == "To settle it:"
    assert verdict.command is not None
    assert verdict.command.startswith("lockwright compare --runs ")
    assert " --locks pthread,spins " in verdict.command
    assert "safest" not in verdict.sentence
    assert "With more threads than processors spins may lose most of its" in verdict.sentence


@pytest.mark.parametrize("judge", [compared, tuned])
def test_the_safest_of_the_tied_locks_is_settled(judge: object) -> None:
    assert callable(judge)
    slow = [13.0, 14.0, 12.0]
    values = {"pthread": [10.0, 14.0, 8.0], "spins": slow, "parks": slow}
    if judge is tuned:
        values = {lock: [1 / value for value in each] for lock, each in values.items()}
    verdict = judge(values)
    assert verdict.heading == "To settle it:"
    assert " --locks pthread,parks " in verdict.command
    assert "Not shown to be worse is parks, which is safer: its waiters park" in verdict.sentence
    assert "With more threads" not in verdict.sentence


def test_of_tied_reader_writer_locks_one_that_is_not_passed_on_is_recommended() -> None:
    """A lock that unlock passes to a waiter without a processor idles until that runs."""
    fair = {"pthread": BASE, "pthread/ticket-rw-fair": TIED["spins"]}
    verdict = compared(
        fair | {"pthread/big-reader": TIED["parks"], "pthread/futex-rw": [20, 20, 20.2]}
    )
    assert recommended(verdict) == "pthread"
    assert verdict.command is not None
    assert "--rwlock futex-rw " in verdict.command
    assert "pthread/futex-rw is the safest of these: its waiters park, it needs" in verdict.sentence
    verdict = compared(fair)
    assert (
        "pthread/ticket-rw-fair may lose most of its throughput: it is passed" in verdict.sentence
    )
