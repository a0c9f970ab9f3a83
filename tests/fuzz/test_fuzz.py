"""Random legal programs observe under a lock what they observe under the C library's mutex.

A slice with fixed seeds; `./dev fuzz` goes on for as long as it is told to.
"""

import pytest
from support import fuzzing, harness, locate

#: One of each way of waiting, and those whose timed locking is their own.
LOCKS = ["ttas", "backoff", "ticket", "futex", "mcs-stp", "mcs-try", "malth-stp", "pthread"]
SEEDS = range(1, 5)
SETTINGS = {"LOCKWRIGHT_RWLOCK": "phase-fair"}
STEPS = 150


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_under_every_lock(seed: int) -> None:
    reference = fuzzing.observe(harness.Setting(harness.LIBC), seed, STEPS)
    assert reference.stdout.endswith("\nend\n"), reference.describe()
    for lock in LOCKS:
        difference = fuzzing.compare(reference, harness.Setting(lock), seed, STEPS, SETTINGS)
        assert difference is None, f"{lock}:\n{difference.description}"


#: Faults of a preload library that programs of these seeds run into.
FAULTS = ["trylock_takes_held", "no_exclusion", "cancel_without_mutex", "timeout_without_mutex"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "LIMIT", 20)
    broken = {"LD_PRELOAD": str(locate.program("posix", f"broken_{fault}.so"))}
    libc = harness.Setting(harness.LIBC)
    assert any(
        fuzzing.compare(fuzzing.observe(libc, seed, 300), libc, seed, 300, broken)
        for seed in range(20, 28)
    )
