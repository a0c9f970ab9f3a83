"""Tests of a profile against the figures that the program itself measures and prints."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from lockwright.profile.record import OBJECT, Mutex, Profile
from support import locate, profiling

pytestmark = locate.native

MUTEX_BYTES = 40


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Profile]:
    """Return the figures that the program prints, and its profile."""
    found, done = profiling.profile(
        tmp_path_factory.mktemp("profile"), locate.program("profile", "truth")
    )
    return json.loads(done.stdout), found


def named(profile: Profile, name: str) -> Mutex:
    found = [each for each in profile.mutexes if each.name.endswith(f"::{name}")]
    assert len(found) == 1, [each.name for each in profile.mutexes]
    assert found[0].place.kind == OBJECT
    return found[0]


def array(profile: Profile, name: str, count: int) -> list[Mutex]:
    """Return the mutexes of an array."""
    return [named(profile, f"{name}+{MUTEX_BYTES * i}" if i else name) for i in range(count)]


def check_agreement(profiled: list[float], true: list[float]) -> None:
    """Check that the median deviation is within 5 %: single measurements may be disturbed."""
    ratios = [figure / truth for figure, truth in zip(profiled, true, strict=True)]
    assert statistics.median(ratios) == pytest.approx(1, abs=0.05), ratios


def test_holding(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    mutexes = array(profile, "held_mutexes", len(true["held"]))
    assert [each.holding.count for each in mutexes] == [true["rounds"]] * len(mutexes)
    check_agreement([each.holding.total for each in mutexes], true["held"])


def test_waiting(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    mutexes = array(profile, "waited_mutexes", len(true["waited"]))
    assert [each.contended for each in mutexes] == [true["rounds"]] * len(mutexes)
    assert [each.arrivals for each in mutexes] == [(true["rounds"],)] * len(mutexes)
    check_agreement([each.waiting.total for each in mutexes], true["waited"])


def test_hand_over(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    mutexes = array(profile, "waited_mutexes", len(true["handed_over"]))
    check_agreement([each.hand_over.total for each in mutexes], true["handed_over"])


def test_the_holders_that_threads_wait_for(both: tuple[dict[str, Any], Profile]) -> None:
    _, profile = both
    for mutex in array(profile, "waited_mutexes", 12):
        (block,) = (each for each in mutex.blocks if each.times > 1)
        assert block.waiter != block.holder >= 0
        assert mutex.sites[block.waiter].contended > 0
        assert mutex.sites[block.holder].contended == 0
        assert all(site.stack[0].symbol for site in mutex.sites)
        assert mutex.threads == 2


def test_samples_are_scaled_to_all_acquisitions(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    mutex = named(profile, "short_mutex")
    assert mutex.acquisitions == pytest.approx(true["short_holds"], rel=0.02)
    assert mutex.holding.count == pytest.approx(true["short_holds"], rel=0.02)
    assert mutex.holding.samples < true["short_holds"] / 2
    # The buckets are an eighth of a power of two wide.
    assert mutex.holding.p50 == pytest.approx(true["short_held"], rel=0.125)
    assert mutex.contended == 0


def test_counts(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    assert named(profile, "counted_mutex").acquisitions == pytest.approx(true["counted"], rel=0.02)
    assert named(profile, "tried_mutex").failed_trylocks == true["failed"]
    mutex = named(profile, "futile_mutex")
    assert mutex.futile_wakeups == true["futile"]
    assert mutex.cond_waits == mutex.cond_signals == true["futile"] + 1


def test_futile_wakeups(tmp_path: Path) -> None:
    found, done = profiling.profile(tmp_path, locate.program("profile", "wakeups"))
    true = json.loads(done.stdout)
    items = true.pop("rounds")
    for name, futile in true.items():
        wakeups = named(found, name).futile_wakeups
        # The last wake-up of each thread of a herd may count.
        assert wakeups == pytest.approx(futile, rel=0.02, abs=8 if futile else 0), name
    uncounted = named(found, "uncounted_herd")
    assert uncounted.futile_wakeups == pytest.approx(uncounted.cond_waits - items - 8, rel=0.02)


def test_the_process(both: tuple[dict[str, Any], Profile]) -> None:
    _, profile = both
    acquisitions = sum(each.acquisitions for each in profile.mutexes)
    assert profile.process.lock_calls == pytest.approx(acquisitions, rel=0.02)
    assert profile.process.threads_most >= 2
    assert profile.exit_status == 0
    assert not profile.partial
    held = [each for each in profile.timeline if each.kind == "hold"]
    waited = [each for each in profile.timeline if each.kind == "wait"]
    assert held
    assert waited
    assert all(0 <= each.begin <= each.end <= profile.process.duration for each in profile.timeline)
