"""ThreadSanitizer, AddressSanitizer and Valgrind see the acquisitions of a replaced mutex."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lockwright.preload import binary
from support import harness, locate, tiers
from support.harness import RunUnder
from support.processes import captured, compiled

#: The C library's mutex, and one lock of each category and `waiting` trait, the default among them.
LOCKS = ["pthread", "futex", "ttas", "mcs-stp", "ticket", "c-bo-mcs-stp", "adaptive"]
BUILT = [lock for lock in LOCKS if lock in locate.lock_names()]
#: Settings of the other locks: the C library's, the mutex under test, or Lockwright's.
C_LIBRARY: dict[str, str] = {}
AS_THE_LOCK = {
    "LOCKWRIGHT_RWLOCK": "mutex",
    "LOCKWRIGHT_SPIN": "mutex",
    "LOCKWRIGHT_SEM_APPEND": "1",
}
OURS = {"LOCKWRIGHT_RWLOCK": "phase-fair", "LOCKWRIGHT_SEM_APPEND": "1/1000"}
EVERY = [
    *((lock, C_LIBRARY) for lock in BUILT),
    *((lock, AS_THE_LOCK) for lock in ("pthread", "ttas", "mcs-stp") if lock in BUILT),
    *((lock, OURS) for lock in ("futex", "mcs-stp") if lock in BUILT),
]
NAMES = [" ".join([lock, *others.values()]) for lock, others in EVERY]
IN_SHORT = [each for each in EVERY if each in (("adaptive", C_LIBRARY), ("mcs-stp", OURS))]
CASES = tiers.short(EVERY, IN_SHORT, "the tools know the calls, not the algorithms")


#: The program, which includes headers beside it.
WATCHED = f'#include "{locate.TESTS / "posix/watched.cpp"}"\n'
CPP = ("-std=c++20", "-O1")


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sanitized")
    return compiled(directory, "watched", WATCHED, *CPP, "-fsanitize=thread", suffix="cpp")


def sanitizer(program: Path) -> str:
    """Return the name by which the program refers to the library of ThreadSanitizer."""
    found = binary.sanitizer(program)
    if found is None:
        pytest.skip("the compiler links ThreadSanitizer statically")
    return found


#: ThreadSanitizer cannot map its shadow memory where address randomisation is wide.
FIXED = ["setarch", platform.machine(), "-R"]


def fixed(*words: str | Path) -> list[str | Path]:
    if subprocess.run([*FIXED, "true"], capture_output=True, check=False).returncode != 0:
        return list(words)
    return [*FIXED, *words]


TSAN_OPTIONS = {"TSAN_OPTIONS": "exitcode=66 halt_on_error=0"}


def is_clean(outcome: harness.Outcome) -> bool:
    """Return whether it succeeded with no message but that a lock is too large for a spin lock."""
    message = [line for line in outcome.stderr.splitlines() if "does not fit into" not in line]
    return (outcome.status, outcome.stdout, message) == (0, "done\n", [])


@pytest.mark.parametrize(("lock", "others"), CASES, ids=NAMES)
def test_thread_sanitizer(
    run_under: RunUnder, sanitized: Path, lock: str, others: dict[str, str]
) -> None:
    preload = f"{sanitizer(sanitized)}:{locate.preload(lock)}"
    env = {**TSAN_OPTIONS, **others, "LD_PRELOAD": preload}
    clean = run_under(lock, fixed(sanitized), env=env, timeout=120)
    assert is_clean(clean), clean.describe()
    racy = run_under(lock, fixed(sanitized, "race"), env=env, timeout=120)
    assert racy.status == 66, racy.describe()
    assert "WARNING: ThreadSanitizer: data race" in racy.stderr, racy.describe()


@pytest.mark.parametrize("lock", BUILT[:1])
def test_the_command_puts_thread_sanitizer_first(sanitized: Path, lock: str) -> None:
    sanitizer(sanitized)
    words = fixed(locate.lockwright(), "run", "--lock", lock, "--stats", "--", sanitized)
    result = captured([str(word) for word in words], env={**os.environ, **TSAN_OPTIONS})
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    assert "ThreadSanitizer" not in result.stderr
    assert "did not resolve" not in result.stderr
    assert re.search(r"acquisitions +[1-9]", result.stderr), result.stderr


@pytest.mark.parametrize("lock", BUILT[:2])
def test_thread_sanitizer_after_the_lock_is_reported(
    run_under: RunUnder, sanitized: Path, lock: str
) -> None:
    sanitizer(sanitized)
    outcome = run_under(lock, fixed(sanitized), env=TSAN_OPTIONS, timeout=120)
    message = [line for line in outcome.stderr.splitlines() if line.startswith("lockwright: ")]
    assert len(message) == 1, outcome.describe()
    assert "libtsan" in message[0]


@pytest.mark.parametrize("lock", BUILT[:2])
def test_a_program_with_address_sanitizer_uses_the_lock(tmp_path: Path, lock: str) -> None:
    source = (
        "#include <pthread.h>\nstatic pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\n"
        "int main(void) { for (int i = 0; i < 5000; ++i) { pthread_mutex_lock(&mutex);"
        " pthread_mutex_unlock(&mutex); } return 3; }\n"
    )
    program = compiled(tmp_path, "locks", source, "-fsanitize=address")
    words = [locate.lockwright(), "run", "--lock", lock, "--stats", "--", program]
    result = captured([str(word) for word in words])
    assert result.returncode == 3, result.stderr
    assert re.search(r"acquisitions +5,000$", result.stderr, re.MULTILINE), result.stderr
    assert "resolve" not in result.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("plain"), "watched", WATCHED, *CPP, suffix="cpp")


OPTIONS = {"helgrind": [], "drd": ["--check-stack-var=yes"]}


def valgrind(tool: str, *words: str | Path) -> list[str | Path]:
    found = shutil.which("valgrind")
    if found is None:
        pytest.skip("valgrind is not installed; tests/apps/more-packages.txt names its package")
    options = [f"--tool={tool}", "--error-exitcode=66", "--quiet", "--fair-sched=try"]
    return [found, *options, *OPTIONS[tool], *words]


#: In the short run each tool sees a lock with the C library's other locks, and one sees ours.
SEEN = [
    ("helgrind", "futex", OURS),
    ("helgrind", "adaptive", C_LIBRARY),
    ("drd", "pthread", C_LIBRARY),
]
ALL_SEEN = [(tool, lock, others) for tool in OPTIONS for lock, others in EVERY]


@pytest.mark.parametrize(
    ("tool", "lock", "others"),
    tiers.short(ALL_SEEN, SEEN, "the tools know the calls, not the algorithms"),
    ids=[" ".join([tool, lock, *others.values()]) for tool, lock, others in ALL_SEEN],
)
def test_valgrind(
    run_under: RunUnder, plain: Path, tool: str, lock: str, others: dict[str, str]
) -> None:
    clean = run_under(lock, valgrind(tool, plain), env=others, timeout=240)
    assert is_clean(clean), clean.describe()


@pytest.mark.parametrize(
    ("tool", "lock"),
    tiers.short(
        [(tool, lock) for tool in OPTIONS for lock in ("pthread", "mcs-stp")],
        [("helgrind", "mcs-stp"), ("drd", "mcs-stp")],
        "the program and the tools are the same",
    ),
)
def test_valgrind_finds_a_race(run_under: RunUnder, plain: Path, tool: str, lock: str) -> None:
    if lock not in BUILT:
        pytest.skip("not built")
    racy = run_under(lock, valgrind(tool, plain, "race"), timeout=240)
    assert racy.status == 66, racy.describe()
    assert "Possible data race" in racy.stderr or "Conflicting" in racy.stderr, racy.describe()
