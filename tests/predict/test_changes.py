"""Changes of a model, and which mutex they are about."""

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.predict import changes
from lockwright.predict.derive import derive
from lockwright.simulate.model import Model, mean

from . import examples


@pytest.fixture
def model() -> Model:
    return derive(examples.two_workers(), None).model


def test_a_shorter_section_saves_the_work_or_moves_it(model: Model) -> None:
    gap = mean(model.roles[0].gap)
    saved, moved = (
        changes.section(0, "hot", 0.25, is_moved).apply(model) for is_moved in (False, True)
    )
    for after, more in ((saved, 0), (moved, 750)):
        assert mean(after.mutexes[0].section) == pytest.approx(250)
        assert mean(after.roles[0].gap) == pytest.approx(gap + more)


def test_other_changes_are_of_one_mutex(model: Model) -> None:
    assert changes.shards(0, "hot", 8).apply(model).mutexes[0].instances == 8
    assert changes.atomic(0, "hot").apply(model).mutexes[0].is_atomic
    assert changes.rwlock(0, "hot", 0.9).apply(model).mutexes[0].reads == 0.9
    assert changes.lock_of(0, "hot", "mcs-spin").apply(model).mutexes[0].lock == "mcs-spin"
    assert changes.lock_of_all("futex").lock == "futex"
    assert changes.thread_count(8).threads == 8


def test_a_mutex_is_found_by_rank_name_or_site() -> None:
    mutexes = [
        examples.mutex("cache", acquisitions=500, section=10, users=(1, 2), contended=9, wait=9),
        examples.mutex("queue_in", acquisitions=300, section=10, users=(1, 2)),
        examples.mutex("queue_out", acquisitions=300, section=10, users=(1, 2)),
    ]
    profile = examples.profile(mutexes, [examples.thread(1, 550), examples.thread(2, 550)])
    indices = derive(profile, None).indices
    assert changes.find_mutex(profile.mutexes, indices, "1") == 0
    assert changes.find_mutex(profile.mutexes, indices, "cache") == 0
    assert changes.find_mutex(profile.mutexes, indices, "_out") == 2
    for word, reason in (
        ("4", "no mutex 4"),
        ("queue", "matches the mutexes 2, 3"),
        ("stack", "no mutex of the profile has 'stack'"),
    ):
        with pytest.raises(LockwrightError) as refusal:
            changes.find_mutex(profile.mutexes, indices, word)
        assert reason in refusal.value.what
