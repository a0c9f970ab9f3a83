"""A lock with a known fault fails the program that tests for it."""

import os
from pathlib import Path

import pytest
from support import harness, locate

#: Fault, program, case, and the expected ending: a failed check or a hang.
FAULTS = [
    ("no_exclusion", "exclusion", "one to four times the cores", "fails"),
    ("no_exclusion", "exclusion", "on one cpu", "fails"),
    ("trylock_takes_held", "trylock", "refuses while held", "fails"),
    ("trylock_takes_held", "trylock", "lock against trylock", "fails"),
    ("signal_lost_sometimes", "cond_queue", "ring of two", "hangs"),
    ("spurious_wakeups", "cond_wake", "barrier of two", "fails"),
    ("broadcast_wakes_one", "cond_wake", "destroyed after broadcast", "hangs"),
    ("timeout_without_mutex", "cond_timed", "no earlier than the deadline", "fails"),
    ("writers_together", "rwlocks", "exclusion", "fails"),
    ("writers_together", "rwlocks", "writer relocks", "fails"),
    ("readers_apart", "rwlocks", "readers together", "hangs"),
    ("readers_apart", "rwlocks", "recursive reads", "fails"),
    ("reader_let_in_too_soon", "rwlocks", "tries", "fails"),
    ("reader_let_in_too_soon", "rwlocks", "writers first", "fails"),
    ("deadline_too_soon", "rwlocks", "deadlines", "fails"),
    ("spin_takes_held", "spins", "exclusion", "fails"),
    ("spin_takes_held", "spins", "tries", "fails"),
    ("spin_takes_held", "spins", "between processes", "fails"),
    ("no_exclusion", "started_programs", "spawned", "fails"),
    ("no_exclusion", "plugins", "shared", "fails"),
    ("trylock_takes_held", "thread_ends", "left held", "fails"),
    ("broadcast_wakes_one", "many_threads", "a thousand asleep on a condition variable", "hangs"),
    ("cancel_without_mutex", "cond_cancel", "clean-up holds the mutex", "fails"),
]


def broken(fault: str) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": str(locate.program("posix", f"broken_{fault}.so"))}


#: Runs of a program: not in each do its threads meet as the fault requires.
TRIES = 10


@pytest.mark.parametrize(("fault", "name", "case", "ending"), FAULTS)
def test_fault_is_found(fault: str, name: str, case: str, ending: str) -> None:
    argv: list[str | Path] = [locate.program("posix", name), case]
    # The limit suffices for a run without a fault on a busy machine.
    limit = 5 if ending == "hangs" else harness.LIMIT
    for _ in range(TRIES):
        outcome = harness.run(argv, broken(fault), limit, stacks=False)
        if outcome.status != 0:
            break
    assert outcome.hung == (ending == "hangs"), outcome.describe()
    assert outcome.status != 0, outcome.describe()
    assert "ok: " + case not in outcome.stdout, outcome.describe()


@pytest.mark.parametrize(("name", "case"), sorted({(name, case) for _, name, case, _ in FAULTS}))
def test_without_a_fault_the_same_case_passes(name: str, case: str) -> None:
    argv: list[str | Path] = [locate.program("posix", name), case]
    harness.run(argv, harness.environment(harness.Setting(harness.LIBC))).succeeded()


def test_output_of_the_lock_on_stdout_is_found() -> None:
    outcome = harness.run([locate.program("posix", "types"), "deep recursion"], broken("banner"))
    assert outcome.stdout == "using a lock\nok: deep recursion\n"
    assert not all(line.startswith("ok: ") for line in outcome.stdout.splitlines())


def test_a_hang_is_reported_with_all_stacks() -> None:
    argv: list[str | Path] = [locate.program("posix", "cond_wake"), "barrier of six"]
    outcome = harness.run(argv, broken("broadcast_wakes_one"), 3)
    assert outcome.stacks is not None
    assert "pthread_cond_wait" in outcome.stacks or "no gdb" in outcome.stacks, outcome.describe()
