"""Random legal programs observe the same under a lock as under the C library's mutex; `./dev fuzz`
runs more of them."""

import os
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

import pytest
from support import harness, locate

#: The default lock, a lock of each `waiting` trait, and locks that implement timed locking.
LOCKS = ["adaptive", "ttas", "backoff", "ticket", "futex", "mcs-stp", "mcs-try", "malth-stp"]
LOCKS += ["pthread"]
#: A build of other locks has its own.
LOCKS = [name for name in LOCKS if name in locate.lock_names()] or locate.lock_names()
#: By `./dev fuzz` the first seed, and how many.
SEEDS = os.environ.get("LOCKWRIGHT_FUZZ", "1 4" if locate.all_tests() else "1 1")
FIRST, NUMBER = map(int, SEEDS.split())
STEPS = 150

LIBC = harness.Setting(harness.LIBC)


def observe(
    setting: harness.Setting,
    seed: int,
    steps: int,
    extra: Mapping[str, str] | None = None,
    limit: float = 120,
) -> harness.Outcome:
    """Run the program of the seed; its output is the trace. limit: seconds after which it hangs."""
    argv: list[str | Path] = [locate.program("fuzz", "fuzz"), str(seed), str(steps)]
    return harness.run(argv, harness.environment(setting, extra=extra), limit)


def difference(reference: harness.Outcome, outcome: harness.Outcome) -> str:
    """Return both traces around the first line that differs; "" if none does."""
    if (outcome.status, outcome.stdout, outcome.stderr) == (0, reference.stdout, ""):
        return ""
    traces = reference.stdout.splitlines(), outcome.stdout.splitlines()
    pairs = list(zip_longest(*traces, fillvalue="(nothing)"))
    first = next((n for n, (left, right) in enumerate(pairs) if left != right), len(pairs))
    lines = [f"  {left}" for left, _ in pairs[max(0, first - 12) : first]]
    lines += [f"  C library: {a}\n  the lock:  {b}" for a, b in pairs[first : first + 3]]
    return "\n".join([*lines, outcome.describe()])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + NUMBER))
def test_the_same_under_every_lock(seed: int) -> None:
    reference = observe(LIBC, seed, STEPS)
    assert reference.stdout.endswith("\nend\n"), reference.describe()
    rwlocks = locate.rwlock_names()
    for index in range(max(len(LOCKS), len(rwlocks))):
        lock = LOCKS[index % len(LOCKS)]
        settings = {"LOCKWRIGHT_RWLOCK": rwlocks[(index + seed) % len(rwlocks)]}
        outcome = observe(harness.Setting(lock), seed, STEPS, settings)
        found = difference(reference, outcome)
        assert not found, f"{lock} {settings}:\n{found}"


#: Faults of a preload library that the programs of the seeds below find.
FAULTS = ["trylock_takes_held", "no_exclusion", "cancel_without_mutex", "timeout_without_mutex"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    broken = {"LD_PRELOAD": str(locate.program("posix", f"broken_{fault}.so"))}
    assert any(
        difference(observe(LIBC, seed, 300), observe(LIBC, seed, 300, broken, 8))
        for seed in range(20, 28)
    )
