"""A lock's library works beside other preload libraries, before or after them."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support import harness, locate, tiers
from support.harness import RunUnder, Setting
from support.processes import captured

#: The C library's mutex, and one lock of each category, the default among them.
CATEGORIES = ["pthread", "futex", "mcs-stp", "c-bo-mcs-stp", "adaptive"]
LOCKS = [lock for lock in CATEGORIES if lock in locate.lock_names()]
FEW = "the other library calls no lock of another category otherwise"
#: The position of the other library in LD_PRELOAD.
ORDERS = ["before", "after"]

#: Allocators, and the names of their libraries.
ALLOCATORS = {
    "jemalloc": r"libjemalloc\.so\.2",
    "tcmalloc": r"libtcmalloc_minimal\.so\.4",
    "mimalloc": r"libmimalloc\.so\.[23](\.\d+)?",
}
#: Programs that involve the allocator: its clean-up in threads that end, fork, and C++.
UNDER_ALLOCATORS = ["thread_ends", "fork", "cpp20"]


def preload(lock: str, other: Path, order: str) -> dict[str, str]:
    both = [str(locate.preload(lock)), str(other)]
    return {"LD_PRELOAD": ":".join(both if order == "after" else reversed(both))}


def passes(outcome: harness.Outcome) -> bool:
    lines = outcome.stdout.splitlines()
    return outcome.status == 0 and bool(lines) and all(line.startswith("ok: ") for line in lines)


def mapped(run_under: RunUnder, lock: str, env: dict[str, str]) -> str:
    """Return the mapped files of a program in this environment."""
    return run_under(lock, ["cat", "/proc/self/maps"], env=env).stdout


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lock", LOCKS)
def test_a_library_that_wraps_the_same_functions(
    run_under: RunUnder, tmp_path: Path, lock: str, order: str
) -> None:
    other = locate.program("posix", "wraps_lock.so")
    report = tmp_path / "report"
    env = {**preload(lock, other, order), "WRAPS_LOCK_REPORT": str(report)}
    for name in ["types", "cond_wake"]:
        outcome = run_under(lock, [locate.program("posix", name)], env=env)
        assert passes(outcome), outcome.describe()
        if order == "after":
            # The lock's library calls the C library's functions and not the wrapper's.
            assert outcome.stderr == "", outcome.describe()
        else:
            # The lock's library cannot know whether the wrapper passes all calls on.
            assert re.fullmatch(
                rf"lockwright: pthread_mutex_lock resolves to {re.escape(str(other))}, not to this"
                r" library; [^\n]*\n",
                outcome.stderr,
            ), outcome.describe()
    counted = [tuple(map(int, line.split())) for line in report.read_text().splitlines()]
    assert len(counted) == 2
    assert all(locks > 0 for locks, _ in counted) == (order == "before")
    assert (counted[1][1] > 0) == (order == "before")


def test_the_wrapper_alone_counts(run_under: RunUnder, tmp_path: Path) -> None:
    report = tmp_path / "report"
    env = {
        "LD_PRELOAD": str(locate.program("posix", "wraps_lock.so")),
        "WRAPS_LOCK_REPORT": str(report),
    }
    outcome = run_under(harness.LIBC, [locate.program("posix", "cond_wake")], env=env)
    assert passes(outcome), outcome.describe()
    locks, signals = map(int, report.read_text().split())
    assert locks > 1000
    assert signals > 100


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lock", tiers.short(LOCKS, ["pthread", "adaptive"], FEW))
def test_a_library_that_locks_in_malloc(run_under: RunUnder, lock: str, order: str) -> None:
    env = preload(lock, locate.program("posix", "locking_malloc.so"), order)
    assert "locking_malloc.so" in mapped(run_under, lock, env)
    for name in ["thread_ends", "fork", "cpp20", "cond_cancel"]:
        outcome = run_under(lock, [locate.program("posix", name)], env=env)
        assert passes(outcome), outcome.describe()
        assert outcome.stderr == "", outcome.describe()


@pytest.mark.parametrize("lock", tiers.short(LOCKS, ["pthread", "adaptive"], FEW))
def test_a_c_library_with_the_thread_number_elsewhere(run_under: RunUnder, lock: str) -> None:
    # The owner is then the kernel's number, which works unless a program corrects it.
    other = locate.program("posix", "misplaced_number.so")
    env = preload(lock, other, "after")
    for name in ["types", "exclusion", "fork", "cond_wake", "busylock", "early_and_late"]:
        outcome = run_under(lock, [locate.program("posix", name)], env=env)
        assert passes(outcome), outcome.describe()
        assert outcome.stderr == "", outcome.describe()
    outcome = run_under(lock, [locate.program("posix", "raw_clone")], env=env)
    assert (outcome.status == 0) == (lock == "pthread"), outcome.describe()


@cache
def installed(allocator: str) -> Path:
    listed = captured(["/sbin/ldconfig", "-p"])
    found = re.search(rf"^\s*{ALLOCATORS[allocator]} .*=> (\S+)$", listed.stdout, re.MULTILINE)
    if found is None:
        pytest.skip(f"{allocator} is not installed; tests/apps/more-packages.txt names its package")
    return Path(found.group().split()[-1])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("lock", tiers.short(LOCKS, ["pthread", "adaptive"], FEW))
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_an_allocator(run_under: RunUnder, allocator: str, lock: str, order: str) -> None:
    library = installed(allocator)
    env = preload(lock, library, order)
    both = mapped(run_under, lock, env)
    assert library.resolve().name in both
    assert locate.preload(lock).name in both
    for name in UNDER_ALLOCATORS:
        outcome = run_under(lock, [locate.program("posix", name)], env=env)
        assert passes(outcome), outcome.describe()
        assert outcome.stderr == "", outcome.describe()


@pytest.mark.parametrize("lock", [harness.LIBC, *LOCKS])
def test_a_program_that_binds_all_symbols_at_start(run_under: RunUnder, lock: str) -> None:
    for name, env in [("bound_now", {}), ("early_and_late", {"LD_BIND_NOW": "1"})]:
        outcome = run_under(Setting(lock), [locate.program("posix", name)], env=env)
        assert passes(outcome), outcome.describe()
        assert outcome.stderr == "", outcome.describe()


def test_the_program_is_linked_with_now() -> None:
    flags = [
        subprocess.run(
            ["readelf", "-d", locate.program("posix", name)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in ("bound_now", "early_and_late")
    ]
    assert "NOW" in flags[0]
