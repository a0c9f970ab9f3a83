"""Tests of the reader-writer locks of a profile against the figures that the program prints."""

import json
from typing import Any

import pytest
from lockwright.profile.record import CREATED, Profile, RwLock
from support import locate, profiling

pytestmark = [
    locate.native,
    pytest.mark.alone("a thread without a processor waits longer than the program sees"),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Profile, str]:
    """Return the figures that the program prints, its profile, and what the command printed."""
    program = locate.program("profile", "rwlocks")
    profile, done = profiling.profile(tmp_path_factory.mktemp("profile"), program)
    return json.loads(done.stdout), profile, done.stderr


def named(profile: Profile, name: str) -> RwLock:
    found = [each for each in profile.rwlocks if each.name.endswith(f"::{name}")]
    assert len(found) == 1, [each.name for each in profile.rwlocks]
    return found[0]


def test_sections_of_readers_and_writers(both: tuple[dict[str, Any], Profile, str]) -> None:
    true, profile, _ = both
    lock = named(profile, "held_lock")
    for side, held in ((lock.readers, true["read"]), (lock.writers, true["written"])):
        assert side.acquisitions == side.holding.count == true["rounds"]
        assert side.holding.total == pytest.approx(held, rel=0.05)
        assert side.contended == 0
        assert [site.stack[0].symbol for site in side.sites if site.acquisitions]
    assert lock.read_share == pytest.approx(0.5)


@pytest.mark.parametrize("waits", ["reader", "writer"])
def test_waits(both: tuple[dict[str, Any], Profile, str], waits: str) -> None:
    true, profile, _ = both
    lock = named(profile, f"{waits}_waits")
    waiting, other = (
        (lock.readers, lock.writers) if waits == "reader" else (lock.writers, lock.readers)
    )
    assert (waiting.contended, other.contended) == (true["rounds"], 0)
    assert waiting.waiting.total == pytest.approx(true[f"{waits} waited"], rel=0.05)
    assert lock.lost == waiting.lost > 0
    assert lock.threads == 2
    (block,) = (each for each in waiting.blocks if each.times > 1)
    assert block.waiter != block.holder >= 0


def test_samples_are_scaled_to_all_acquisitions(
    both: tuple[dict[str, Any], Profile, str],
) -> None:
    true, profile, _ = both
    lock = named(profile, "counted_lock")
    # The acquisitions after a thread's last sample are missing.
    assert lock.acquisitions == pytest.approx(true["counted"], rel=0.05)
    assert lock.read_share == pytest.approx(0.9, abs=0.03)


def test_a_created_lock_and_its_trylocks(both: tuple[dict[str, Any], Profile, str]) -> None:
    true, profile, _ = both
    (lock,) = (each for each in profile.rwlocks if each.place.kind == CREATED)
    assert "create_and_try" in lock.name
    # Not every one of so few is represented by a sample.
    assert 0 < lock.readers.acquisitions <= 2 * true["rounds"]
    assert lock.writers.failed_trylocks == true["rounds"]


def test_they_are_apart_from_mutexes(both: tuple[dict[str, Any], Profile, str]) -> None:
    _, profile, printed = both
    assert profile.mutexes == ()
    assert profile.lost == 0 < profile.rwlocks_lost
    assert profile.process.rwlock_calls == 0
    assert profile.lost_share_of(profile.rwlocks_lost) > 0
    assert "readers" in printed
    assert "writers" in printed


def test_a_profile_with_them_is_read_back(both: tuple[dict[str, Any], Profile, str]) -> None:
    _, profile, _ = both
    assert Profile.from_json(profile.to_json()) == profile
