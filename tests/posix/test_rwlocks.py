"""Reader-writer locks: the C library's, any lock in their place, and the phase-fair one."""

import pytest
from support import harness, locate
from support.harness import RunUnder

VARIABLE = "LOCKWRIGHT_RWLOCK"
#: What the program is told that it may count on.
PROMISES = {"mutex": "exclusive", "phase-fair": "phase-fair"}
#: One of each kind that a reader-writer lock can be made of: the C library's own, those whose
#: waiters can give up, those with queue nodes, parts outside the lock, and other sets of waiters.
MUTEXES = [
    "pthread", "futex", "ttas", "ticket", "mcs-stp", "clh-stp", "mcs-try", "hmcs", "parking-lot",
    "malth-stp", "biased-futex", "shfllock-stp",
]  # fmt: skip
SETTINGS = [
    (harness.LIBC, ""),
    ("mcs-stp", ""),
    ("mcs-stp", "keep"),
    *((lock, "mutex") for lock in MUTEXES),
    ("pthread", "phase-fair"),
    ("mcs-stp", "phase-fair"),
]


def environment(way: str) -> dict[str, str]:
    promise = {"LOCKWRIGHT_TEST_RWLOCK": PROMISES[way]} if way in PROMISES else {}
    return {VARIABLE: way, **promise}


@pytest.mark.parametrize(("lock", "way"), SETTINGS)
def test_program(run_under: RunUnder, lock: str, way: str) -> None:
    if lock != harness.LIBC and lock not in locate.lock_names():
        pytest.skip(f"{lock} is not built")
    program = locate.program("posix", "rwlocks")
    outcome = run_under(lock, [program], env=environment(way))
    assert outcome.status == 0, outcome.describe()
    assert outcome.stderr == "", outcome.describe()


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize(("way", "case"), [("mutex", "readers together"), ("phase-fair", "phases")])
def test_the_way_is_taken(run_under: RunUnder, way: str, case: str, counting: bool) -> None:
    """The guarantee of one setting does not hold with another, so the variable has an effect."""
    program = locate.program("posix", "rwlocks")
    outcome = run_under("mcs-stp", [program, case], counting=counting, env=environment(way))
    assert outcome.status == 0, outcome.describe()
    kept = run_under("mcs-stp", [program, case], env={**environment(way), VARIABLE: "keep"})
    assert kept.status == 1, kept.describe()


@pytest.mark.parametrize("value", ["keeps", "MUTEX", "1", "phase_fair"])
def test_nonsense_is_said_and_not_used(run_under: RunUnder, value: str) -> None:
    program = locate.program("posix", "rwlocks")
    outcome = run_under("ttas", [program, "default kind prefers no writer"], env={VARIABLE: value})
    assert outcome.status == 0, outcome.describe()
    assert outcome.stderr.splitlines() == [
        f"lockwright: {VARIABLE}='{value}' is not keep, mutex or phase-fair; it is not used"
    ]
