"""Condition variables and semaphores that prepend most waiters lose no wake-up."""

import pytest
from support import harness, locate, tiers
from support.harness import RunUnder

KINDS = {"cond": "LOCKWRIGHT_COND_APPEND", "sem": "LOCKWRIGHT_SEM_APPEND"}
VALUES = ["1", "0", "1/1000", "1/2"]
#: A lock that parks, and the C library's, which waits for the mutex by other functions.
LOCKS = ["mcs-stp", "pthread"]
COND_PROGRAMS = ["cond_queue", "cond_wake", "cond_timed", "cond_types", "cond_cancel", "fork"]


def numbers(run_under: RunUnder, kind: str, value: str, *words: str) -> list[int]:
    """Return the numbers that the program printed."""
    outcome = run_under(
        "mcs-stp",
        [locate.program("posix", "order_of_wakes"), kind, *words],
        env={KINDS[kind]: value},
    ).clean()
    return [int(word) for word in outcome.stdout.split()]


@pytest.mark.parametrize(
    ("kind", "value", "step"),
    [("cond", "1", 1), ("cond", "0", -1), ("cond", "", 1), ("sem", "1", 1), ("sem", "0", -1)],
)
def test_all_or_none_are_appended(run_under: RunUnder, kind: str, value: str, step: int) -> None:
    """First come, first served, as condition variables by default; or last come."""
    assert numbers(run_under, kind, value, "order", "12") == list(range(12))[::step]


@pytest.mark.parametrize("kind", KINDS)
def test_some_appended_starves_no_thread(run_under: RunUnder, kind: str) -> None:
    """With one in five, 600 wakes append 100 times, which moves each of 6 threads to the head."""
    counts = numbers(run_under, kind, "1/5", "turns", "6", "600")
    assert sum(counts) == 600
    assert min(counts) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_few_appended_keeps_few_active(run_under: RunUnder, kind: str) -> None:
    """With none appended, one thread is always woken; with all, each is woken equally often."""
    assert sorted(numbers(run_under, kind, "0", "turns", "6", "60")) == [0, 0, 0, 0, 0, 60]
    assert numbers(run_under, kind, "1", "turns", "6", "60") == [10] * 6


@pytest.mark.parametrize(
    "value",
    tiers.short(VALUES, ["1/1000"], "the programs run with the default, 1; others are between"),
)
@pytest.mark.parametrize("name", COND_PROGRAMS)
@pytest.mark.parametrize("lock", LOCKS)
def test_condition_variables(run_under: RunUnder, lock: str, name: str, value: str) -> None:
    env = {"LOCKWRIGHT_COND_APPEND": value}
    if value != "1":
        env["LOCKWRIGHT_TEST_COND_FIFO"] = ""  # not guaranteed then
    run_under(lock, [locate.program("posix", name)], env=env).clean()


@pytest.mark.parametrize(
    ("lock", "value"),
    tiers.short(
        [(harness.LIBC, ""), *(("mcs-stp", value) for value in ["", *VALUES])],
        [("mcs-stp", ""), ("mcs-stp", "1/1000")],
        "the others are between them; without a value they are the C library's, which has no lock",
    ),
)
def test_semaphores(run_under: RunUnder, lock: str, value: str) -> None:
    """No unit is lost or added; without a value they are the C library's."""
    locate.need_shared_memory()
    env = {"LOCKWRIGHT_SEM_APPEND": value}
    run_under(lock, [locate.program("posix", "semaphores")], env=env).clean()


@pytest.mark.parametrize("variable", KINDS.values())
@pytest.mark.parametrize("value", ["2", "-1", "1/", "1/0", "1/x", "0.5", "1/99999999999", "often"])
def test_an_invalid_value_is_reported_and_not_used(
    run_under: RunUnder, variable: str, value: str
) -> None:
    program = locate.program("posix", "order_of_wakes")
    outcome = run_under("ttas", [program, "cond", "order", "3"], env={variable: value})
    assert outcome.stdout.split() == ["0", "1", "2"]
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, outcome.describe()
    assert lines[0].startswith(f"lockwright: {variable}='{value}' is not ")
