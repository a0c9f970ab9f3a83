"""Which locks are named, of those that were simulated."""

import pytest
from lockwright.predict import choose
from lockwright.predict.choose import candidates, named
from lockwright.predict.derive import derive
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
from lockwright.predict.ranking import Prediction
from lockwright.simulate import machine

from . import examples


def predicted(lock: str, ratio: float, first: int, last: int, low: float = 1.0) -> Prediction:
    rate = Estimate(ratio, min(low, ratio), ratio)
    return Prediction(lock, 2, rate, rate, rate, first, last, {})


def names(found: list[Prediction], crowded: list[Prediction]) -> list[str]:
    return [each.name for each in named(found, crowded, "adaptive")]


def test_a_lock_that_harms_with_more_threads_is_not_named() -> None:
    found = [predicted("mcs-stp", 2.0, 1, 1), predicted("futex", 1.2, 2, 2)]
    crowded = [predicted("mcs-stp", 0.94, 2, 2), predicted("futex", 0.95, 1, 1)]
    assert names(found, crowded) == ["futex"]


def test_a_lock_whose_second_simulation_failed_is_not_named() -> None:
    assert names([predicted("futex", 1.5, 1, 1)], []) == []


def test_a_lock_that_loses_in_a_simulation_is_not_named() -> None:
    found = [predicted("futex", 1.5, 1, 1, low=0.9), predicted("adaptive", 1.04, 2, 2)]
    assert names(found, found) == []


def test_the_default_lock_may_lose_a_little_in_a_simulation() -> None:
    for low, expected in ((0.9, ["adaptive"]), (0.89, [])):
        found = [predicted("adaptive", 1.1, 1, 2, low=low)]
        assert names(found, found) == expected


def test_the_default_lock_is_first_unless_the_best_is_told_apart_from_it() -> None:
    best = predicted("futex", 1.3, 1, 2)
    near = [best, predicted("adaptive", 1.25, 1, 2)]
    assert names(near, near) == ["adaptive", "futex"]
    apart = [predicted("futex", 1.6, 1, 1), predicted("adaptive", 1.1, 2, 2)]
    assert names(apart, apart) == ["futex", "adaptive"]
    for ratio, expected in ((1.03, ["adaptive", "futex"]), (0.99, ["futex"])):
        beside = [predicted("futex", 1.06, 1, 3), predicted("adaptive", ratio, 2, 3)]
        assert names(beside, beside) == expected


def test_waiters_that_never_park_need_a_processor_each() -> None:
    profile = examples.two_workers()
    assert "ttas" not in candidates(profile, 2, 8)
    assert {"adaptive", "futex"} <= set(candidates(profile, 2, 8))
    assert "ttas" in candidates(profile, 8, 8)
    assert "pthread" not in candidates(profile, 8, 8)


def test_without_processors_no_lock_is_named_but_with_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads in place of other programs do not show who has the processors."""
    here = machine.load("xeon-8260x2")
    gaining = [predicted("futex", 1.3, 1, 1), predicted("adaptive", 1.04, 2, 2)]
    beside = [predicted("futex", 1.3, 1, 2), predicted("adaptive", 1.25, 1, 2)]
    for found, busy, expected in (
        (gaining, False, ["futex"]),
        (gaining, True, []),
        (beside, True, ["adaptive", "futex"]),
    ):
        monkeypatch.setattr(choose, "_simulate", lambda *_, found=found: found)
        profile = examples.two_workers(cpu_user=0.5e9 if busy else 1.7e9)
        header = Header("program", here, derive(profile, None), None, profile.process)
        chosen = choose.of_models(profile, header, choose.quick())
        assert [each.name for each in chosen] == expected


def test_lacking_processors_count_as_more_threads() -> None:
    """Two threads that could run had a processor and a half, and a half."""
    assert examples.two_workers(cpu_user=1.7e9).process.pressure == 1
    process = examples.two_workers(cpu_user=0.5e9).process
    assert (process.had, process.lacked, process.pressure) == (0.5, 0.75, 4)
    assert choose.is_gain(Estimate(1.05, 1.0, 1.1))
    assert not choose.is_gain(None)
