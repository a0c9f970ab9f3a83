"""Spin locks: the C library's, or the lock itself where it fits into four bytes."""

import json

import pytest
from support import harness, locate
from support.harness import RunUnder

VARIABLE = "LOCKWRIGHT_SPIN"
#: Locks that fit.
LOCKS = ["ttas", "ttas-ls", "backoff", "spinlock-ls", "parking-lot"]
SETTINGS = [
    (harness.LIBC, ""),
    ("mcs-stp", ""),
    ("ttas", "keep"),
    ("pthread", "mutex"),
    *((lock, "mutex") for lock in LOCKS),
]


@pytest.mark.parametrize(("lock", "value"), SETTINGS)
def test_program(run_under: RunUnder, lock: str, value: str) -> None:
    if lock != harness.LIBC and lock not in locate.lock_names():
        pytest.skip(f"{lock} is not built")
    variables = {"LOCKWRIGHT_TEST_SPIN": "1"} if lock in LOCKS and value == "mutex" else {}
    program = locate.program("posix", "spins")
    run_under(lock, [program], env={VARIABLE: value, **variables}).clean()


def test_a_lock_that_does_not_fit_is_reported_and_not_used(run_under: RunUnder) -> None:
    program = locate.program("posix", "spins")
    outcome = run_under("mcs-stp", [program, "implementation"], env={VARIABLE: "mutex"}).succeeded()
    assert outcome.stderr.splitlines() == [
        "lockwright: this lock does not fit into a pthread_spinlock_t; "
        "spin locks stay the C library's"
    ]


def test_an_invalid_value_is_reported_and_not_used(run_under: RunUnder) -> None:
    program = locate.program("posix", "spins")
    outcome = run_under("ttas", [program, "implementation"], env={VARIABLE: "kept"}).succeeded()
    assert outcome.stderr.splitlines() == [
        f"lockwright: {VARIABLE}='kept' is not one of keep, mutex; it is not used"
    ]


def test_locks_of_at_most_two_bytes_fit() -> None:
    rows = json.loads((locate.preload_dir() / "locks.json").read_text())
    fit = {row["name"] for row in rows if row["bytes_in_place"] <= 2}
    assert fit == {row["name"] for row in rows if row["name"] in LOCKS}
