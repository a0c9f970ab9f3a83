"""Deadlines follow the clock of a library that replaces the kernel's, in either preload order."""

import shutil
from pathlib import Path

import pytest
from support import harness, locate, tiers
from support.harness import RunUnder

#: The C library's mutex, a lock whose waiters can give up, and one whose waiters cannot.
LOCKS = [lock for lock in ("pthread", "futex", "mcs-stp") if lock in locate.lock_names()]
ORDERS = ["before", "after"]
#: Days ahead, and the rate of the clock.
TIMES = tiers.short(
    [(400, 1), (-400, 1), (400, 2)], [(-400, 1)], "other times lead through the same code"
)
#: Variables that select the implementation of reader-writer locks and semaphores.
SETTINGS = [
    {},
    {"LOCKWRIGHT_RWLOCK": "phase-fair", "LOCKWRIGHT_SEM_APPEND": "1"},
    {"LOCKWRIGHT_RWLOCK": "mutex"},
]
#: Seconds after which a program counts as hung; it takes two.
LIMIT = 60


def clock_variables(days: int, rate: int) -> dict[str, str]:
    return {
        "MOVED_CLOCK_DAYS": str(days),
        "MOVED_CLOCK_RATE": str(rate),
        "FAKETIME": f"{days:+}d" + (f" x{rate}" if rate != 1 else ""),
    }


def check(outcome: harness.Outcome, days: int) -> None:
    assert outcome.status == 0, outcome.describe()
    first, *calls = outcome.stdout.splitlines()
    assert first == f"days ahead: {days}"
    assert len(calls) > 40
    assert [each for each in calls if not each.endswith(": right")] == [], outcome.describe()


def run(
    lock: str, order: str, other: Path, days: int, rate: int, variables: dict[str, str]
) -> harness.Outcome:
    both = [str(locate.preload(lock)), str(other)]
    env = harness.environment(harness.Setting(lock)) | clock_variables(days, rate) | variables
    env["LD_PRELOAD"] = ":".join(both if order == "after" else reversed(both))
    return harness.run([locate.program("posix", "other_clock")], env, LIMIT)


@pytest.mark.parametrize(
    "variables", SETTINGS, ids=lambda variables: "-".join(["ours", *variables.values()])
)
@pytest.mark.parametrize(("days", "rate"), TIMES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lock", LOCKS)
def test_a_shifted_clock(
    lock: str, order: str, days: int, rate: int, variables: dict[str, str]
) -> None:
    other = locate.program("posix", "moved_clock.so")
    check(run(lock, order, other, days, rate, variables), days)


def libfaketime() -> Path:
    for directory in Path("/usr/lib").glob("*/faketime"):
        return directory / "libfaketimeMT.so.1"
    pytest.skip("libfaketime is not installed; tests/apps/more-packages.txt names its package")


@pytest.mark.parametrize(("days", "rate"), TIMES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lock", LOCKS)
def test_libfaketime(lock: str, order: str, days: int, rate: int) -> None:
    check(run(lock, order, libfaketime(), days, rate, {}), days)


@pytest.mark.parametrize("days", tiers.short([400, -400], [-400], "likewise"))
@pytest.mark.parametrize("first", ["lockwright", "faketime", "preload"])
@pytest.mark.parametrize("lock", LOCKS)
def test_the_commands(lock: str, first: str, days: int) -> None:
    library = libfaketime()
    faketime = shutil.which("faketime")
    if faketime is None:
        pytest.skip("faketime is not installed; tests/apps/more-packages.txt names its package")
    if first != "preload":
        locate.need_shared_memory()
    time = [faketime, "-m", "-f", f"{days:+}d"]
    swap = [str(locate.lockwright()), "run", "--lock", lock, "--"]
    program = str(locate.program("posix", "other_clock"))
    words = {
        "lockwright": [*swap, *time, program],
        "faketime": [*time, *swap, program],
        "preload": [*swap, program],
    }[first]
    env = harness.environment(harness.Setting(harness.LIBC))
    if first == "preload":
        env |= {"LD_PRELOAD": str(library)} | clock_variables(days, 1)
    check(harness.run(words, env, LIMIT), days)


def test_without_another_clock(run_under: RunUnder) -> None:
    for lock in [harness.LIBC, *LOCKS]:
        check(run_under(lock, [locate.program("posix", "other_clock")]), 0)


def test_the_program_finds_the_fault() -> None:
    """The C library waits by the kernel's clock, and returns too early or never."""
    env = harness.environment(harness.Setting(harness.LIBC)) | clock_variables(-400, 1)
    env["LD_PRELOAD"] = str(locate.program("posix", "moved_clock.so"))
    outcome = harness.run([locate.program("posix", "other_clock")], env, 5, stacks=False)
    assert "too early" in outcome.stdout
