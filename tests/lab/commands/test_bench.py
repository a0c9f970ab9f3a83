"""`lockwright bench`: pairs of runs, memory of locks, starved threads, and runs that do not end."""

import json
import mmap
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import Contender, Outcome
from lockwright.preload import locks
from lockwright.run import bench_program as bench_run
from lockwright_lab.bench import cost, runs
from support import locate, tiers
from support.processes import captured, running


def call(
    lockwright: Path, *arguments: str, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", *arguments], timeout=timeout)


@pytest.fixture
def measure(lockwright: Path, tmp_path: Path) -> Any:
    """Return a function that runs a benchmark and returns its JSON document."""

    def run(*arguments: str) -> dict[str, Any]:
        target = tmp_path / "result.json"
        done = call(lockwright, *arguments, "--json", str(target))
        assert done.returncode == 0, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(target.read_text())
        return document

    return run


def lines(document: dict[str, Any], kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each (run, line) with a line of that kind."""
    return [
        (run, line) for run in document["runs"] for line in run["lines"] if line["kind"] == kind
    ]


def test_the_order_of_a_pair_alternates(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def measure(contender: Contender, *_: object) -> Outcome:
        made.append(contender.name)
        return Outcome(details={"lines": [], "problems": []})

    monkeypatch.setattr(runs, "measure", measure)
    for round_number in (1, 2):
        runs.beside_libc(runs.Call(Contender("ttas"), round_number, "uncontended", {}, 1.0))
    assert made == ["ttas", "libc", "libc", "ttas"]


def test_the_null_lock_is_for_measurements_only(measure: Any, cli: Any) -> None:
    """It excludes no thread: only bench accepts its name, and no command lists it."""
    document = measure("uncontended", "--locks", "null", "--runs", "1", "--set", "batch=1000")
    assert [row["lock"] for row in document["summaries"]] == ["libc", "null"]
    libraries = {Path(line["mutex"]).name for _, line in lines(document, "result")}
    assert libraries == {"libc.so.6", "liblockwright-null.so"}
    assert "null" not in [row["name"] for row in json.loads(cli("list", "--json", "-").out)]
    cli("run", "--lock", "null", "--", "true").refuses("'null'")
    cli("compare", "--locks", "null", "--", "true").refuses("'null'")


#: Locks that allocate their memory outside the mutex only after a long wait.
ALLOCATED_LATE = ["glk"]


def test_footprint_is_that_of_the_traits(measure: Any, all_locks: list[dict[str, Any]]) -> None:
    """libc and in-place locks use no memory outside; of a large state only used pages count."""
    outside = {row["name"]: row["bytes_per_mutex_outside"] for row in all_locks}
    some = outside if locate.all_tests() else {*tiers.representatives(), *ALLOCATED_LATE}
    chosen = ["mcs-spin", *[name for name, size in outside.items() if size and name in some]]
    sizes = ["--set", "mutexes=60000", "--set", "waiters=50", "--runs", "2"]
    document = measure("footprint", "--locks", ",".join(chosen), *sizes)
    for _, line in lines(document, "result"):
        assert line["array_bytes"] == 60000 * 40
    rows = {row["lock"]: row for row in document["summaries"]}
    assert set(rows) == {"libc", *chosen}
    for name, row in rows.items():
        if outside.get(name, 0) == 0 or name in ALLOCATED_LATE:
            assert row["figures"]["bytes_per_mutex"]["median"] == 0
        else:
            # The last page and the last block of the pool may have been there before.
            median = row["figures"]["bytes_per_mutex"]["median"]
            assert 0.9 * min(outside[name], mmap.PAGESIZE) < median < 1.1 * outside[name]


def test_footprint_limits_its_memory(all_locks: list[dict[str, Any]], libdir: Path) -> None:
    """A lock with a large state is measured with as many mutexes as fit."""
    for lock in locks.Registry(libdir, all_locks):
        most = cost.most_mutexes(bench_run.Subject(lock.name, lock=lock))
        assert most * lock.bytes_per_mutex_outside <= 4 << 30
        assert most >= 100_000
    assert cost.most_mutexes(bench_run.Subject("libc")) > 1 << 40


def test_footprint_finds_memory_for_each_mutex_and_thread(tmp_path: Path) -> None:
    """The library allocates a byte for each acquisition."""
    source, library = tmp_path / "hoarder.c", tmp_path / "hoarder.so"
    source.write_text(
        """#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
int pthread_mutex_lock(pthread_mutex_t *m) {
  *(volatile char *)malloc(1) = 1;
  while (__atomic_exchange_n((int *)m, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
  return 0;
}
int pthread_mutex_unlock(pthread_mutex_t *m) {
  __atomic_store_n((int *)m, 0, __ATOMIC_RELEASE);
  return 0;
}
"""
    )
    build = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(build, check=True)
    sizes = ["--mutexes", "20000", "--threads", "20", "--sharers", "5"]
    words = [str(bench_run.program()), "footprint", *sizes]
    done = captured(words, env={"LD_PRELOAD": str(library)})
    assert json.loads(done.stdout)["bytes_per_pair"] > 16


def test_oversubscribe_finds_a_starved_thread(lockwright: Path, tmp_path: Path) -> None:
    """An unfinished wait counts, and so does a second without an acquisition."""
    target = tmp_path / "result.json"
    # A section of some seconds: at most one thread acquires the lock.
    long = ["--set", "section-cycles=20000000000", "--seconds", "1.3", "--timeout", "4"]
    options = ["--locks", "libc", "--runs", "1", "--threads-per-core", "1"]
    done = call(lockwright, "oversubscribe", *options, *long, "--json", str(target))
    assert done.returncode == 0, done.stderr
    assert "timed out" in done.stdout
    (row,) = json.loads(target.read_text())["summaries"]
    assert row["timeouts"] == 1
    assert row["figures"]["least_in_a_second"]["median"] == 0
    # Nearly the whole duration: its threads may have started late.
    assert row["figures"]["longest_wait_ns"]["median"] > 0.65e9


def test_a_run_that_does_not_end_is_killed(lockwright: Path, tmp_path: Path) -> None:
    """The watchdog ends a run, the table states that, and no process is left."""
    target = tmp_path / "result.json"
    arguments = ["--locks", "libc", "--runs", "3", "--seconds", "3600", "--timeout", "0.5"]
    started = time.monotonic()
    arguments += ["--threads-per-core", "1", "--json", str(target)]
    done = call(lockwright, "handover", *arguments)
    assert time.monotonic() - started < 100
    assert done.returncode == 0, done.stderr
    assert "collapsed" in done.stdout
    document = json.loads(target.read_text())
    assert document["summaries"][0]["timeouts"] == 2
    assert len(document["runs"]) == 2, "a collapsed lock is not run again"
    assert not running("lockwright-bench", "--seconds\x003600.0")


def test_a_library_that_was_not_loaded_is_an_error(libdir: Path) -> None:
    absent = bench_run.Subject("ttas", libdir / "liblockwright-absent.so")
    few = {"batch": 1, "batches": 1}
    with pytest.raises(LockwrightError, match="were served by"):
        bench_run.run(absent, "uncontended", few, timeout=30)
