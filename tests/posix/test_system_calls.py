"""The system calls of lock functions under contention are those that docs/conformance.md and
`lockwright info` name."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from lockwright.preload.locks import registry
from support import locate

PAGE = locate.ROOT / "docs/conformance.md"

#: Calls of the C library when threads begin and end, and of the program.
NOT_OF_LOCKS = {"set_robust_list", "rseq", "rt_sigprocmask", "exit", "clock_nanosleep"}
#: A thread that ends gives its stack back by madvise().
CALL = re.compile(r"^(\d+) +(?!madvise\(0x\w+, \d+, MADV_DONTNEED)(\w+)\(", re.MULTILINE)


@cache
def one_of_each_kind() -> list[str]:
    """Return the default lock, and the first lock of each kind of waiting and of memory."""
    kinds: dict[object, str] = {}
    for each in map(registry().find, registry().names):
        has_memory = (each.bytes_per_node > 0, each.bytes_per_mutex_outside > 0)
        kind = (each.is_default, each.waiting, has_memory, each.name.startswith("biased-"))
        kinds.setdefault(kind, each.name)
    return list(kinds.values())


def named_by_page() -> set[str]:
    section = PAGE.read_text().split("## System calls\n")[1].split("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {name.strip(" `") for row in rows for name in row[1].split(",")}


def calls_under(lock: str, folder: Path) -> set[str]:
    """Return the calls that threads other than the main one make while they contend."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed; see tests/apps/more-packages.txt")
    trace = folder / "trace"
    # One arena: the allocator maps one for each thread otherwise.
    options = ["--env=MALLOC_ARENA_MAX=1", f"--env=LD_PRELOAD={locate.preload(lock)}"]
    program = locate.program("posix", "sandbox")
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", trace, *options, program, "contention"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "ptrace" in done.stderr.lower():
        pytest.skip("this system does not permit ptrace")
    assert done.returncode == 0, done.stderr
    found = CALL.findall(trace.read_text())
    main = found[0][0]
    return {name for thread, name in found if thread != main} - NOT_OF_LOCKS


def test_the_page_names_every_call() -> None:
    locks = registry()
    named = {call for name in locks.names for call in locks.find(name).system_calls()}
    assert named <= named_by_page()
    if set(locks.names) == set(locate.lock_names()):
        assert named == named_by_page()


@pytest.mark.parametrize("lock", one_of_each_kind())
def test_a_lock_makes_the_calls_that_are_named(lock: str, tmp_path: Path) -> None:
    made = calls_under(lock, tmp_path)
    assert made <= {*registry().find(lock).system_calls(), "futex"}
    # The condition variables and the reader-writer locks of the program sleep under every lock.
    assert "futex" in made


@pytest.mark.alone("beside other work a waiter seldom comes to yield")
def test_the_default_lock_yields_and_does_nothing_else(tmp_path: Path) -> None:
    default = next(name for name in registry().names if registry().find(name).is_default)
    assert calls_under(default, tmp_path) == {"futex", "sched_yield"}
