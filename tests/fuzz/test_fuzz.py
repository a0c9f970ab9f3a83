"""Random legal programs observe the same under a lock as under the C library's mutex; `./dev fuzz`
runs more of them.
"""

import pytest
from support import fuzzing, harness, locate

#: The default lock, a lock of each `waiting` trait, and locks that implement timed locking.
LOCKS = ["adaptive", "ttas", "backoff", "ticket", "futex", "mcs-stp", "mcs-try", "malth-stp"]
LOCKS += ["pthread"]
SEEDS = range(1, 5)
STEPS = 150


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_under_every_lock(seed: int) -> None:
    reference = fuzzing.observe(harness.Setting(harness.LIBC), seed, STEPS)
    assert reference.stdout.endswith("\nend\n"), reference.describe()
    rwlocks = locate.rwlock_names()
    for index in range(max(len(LOCKS), len(rwlocks))):
        lock = LOCKS[index % len(LOCKS)]
        settings = {"LOCKWRIGHT_RWLOCK": rwlocks[(index + seed) % len(rwlocks)]}
        difference = fuzzing.compare(reference, harness.Setting(lock), seed, STEPS, settings)
        assert difference is None, f"{lock} {settings}:\n{difference.description}"


#: Faults of a preload library that the programs of the seeds below find.
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
