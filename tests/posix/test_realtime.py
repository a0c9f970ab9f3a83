"""Each lock admits threads with real-time priorities as it states."""

import itertools

import pytest
from support import harness, locate
from support.harness import RunUnder

NOT_PERMITTED = 77

ARRIVALS = list(itertools.permutations((1, 2, 3)))


def observed(run_under: RunUnder, lock: str) -> dict[tuple[int, ...], tuple[int, ...]] | None:
    """Return the order of admission for each order of arrival; None if the threads starved."""
    outcome = run_under(lock, [locate.program("posix", "realtime")])
    if outcome.status == NOT_PERMITTED:
        pytest.skip(f"needs CAP_SYS_NICE: {outcome.stderr.strip()}")
    assert outcome.status == 0, outcome.describe()
    assert outcome.stderr == "", outcome.describe()
    lines = outcome.stdout.splitlines()
    if lines == ["starved"]:
        return None
    found = {}
    for line in lines:
        arrival, _, admission = line.partition(": ")
        found[tuple(map(int, arrival.split()))] = tuple(map(int, admission.split()))
    assert sorted(found) == ARRIVALS, outcome.describe()
    assert all(sorted(each) == [1, 2, 3] for each in found.values()), outcome.describe()
    return found


def kind(found: dict[tuple[int, ...], tuple[int, ...]] | None) -> str:
    """Return the registry's word for the order of admission."""
    if found is None:
        return "starves"
    by_priority = all(admission == (3, 2, 1) for admission in found.values())
    return "by priority" if by_priority else "own order"


def test_the_c_library_admits_by_priority(run_under: RunUnder) -> None:
    assert kind(observed(run_under, harness.LIBC)) == "by priority"


@pytest.mark.parametrize("lock", locate.lock_names())
def test_the_lock_admits_as_it_states(run_under: RunUnder, lock: str) -> None:
    found = observed(run_under, lock)
    assert kind(found) == locate.traits(lock)["realtime"], found


def test_last_come_first_served_is_not_by_priority() -> None:
    """It agrees with the order by priority for one order of arrival."""
    assert kind({arrival: arrival[::-1] for arrival in ARRIVALS}) == "own order"
