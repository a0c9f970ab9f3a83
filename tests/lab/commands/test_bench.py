"""`lockwright bench` measures the lock that it names, wakes and counts exactly, and never hangs."""

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
from support.processes import assert_refused, captured, running

LOCKS = ["ttas", "mcs-stp"]
BROADCASTS = 3
WAITERS = 40


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


def test_uncontended_pairs_each_lock_with_libc(measure: Any) -> None:
    """Each run uses the library that it is named after, and has a libc run beside it."""
    options = ["--locks", ",".join(LOCKS), "--runs", "3", "--batch", "1000", "--batches", "2"]
    document = measure("uncontended", *options)
    assert [row["lock"] for row in document["summaries"]] == ["libc", *LOCKS]
    assert all(row["figures"]["ratio"]["count"] == 3 for row in document["summaries"])
    for run, line in lines(document, "result"):
        library = f"liblockwright-{run['lock']}.so" if run["lock"] != "libc" else "libc.so.6"
        assert Path(line["mutex"]).name == library
        assert line["pairs"] == 2000
    beside = [line for run in document["runs"] for line in run["beside"]]
    assert len([line for line in beside if line["kind"] == "result"]) == 3 * 3
    assert {Path(line["mutex"]).name for line in beside if "mutex" in line} == {"libc.so.6"}


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
    document = measure("uncontended", "--locks", "null", "--runs", "1", "--batch", "1000")
    assert [row["lock"] for row in document["summaries"]] == ["libc", "null"]
    libraries = {Path(line["mutex"]).name for _, line in lines(document, "result")}
    assert libraries == {"libc.so.6", "liblockwright-null.so"}
    assert "null" not in [row["name"] for row in json.loads(cli("list", "--json").out)]
    cli("run", "--lock", "null", "--", "true").refuses("'null'")
    cli("compare", "--locks", "null", "--", "true").refuses("'null'")


#: Locks that allocate their memory outside the mutex only after a long wait.
ALLOCATED_LATE = ["glk"]


def test_footprint_is_that_of_the_traits(measure: Any, all_locks: list[dict[str, Any]]) -> None:
    """libc and in-place locks use no memory outside; of a large state only used pages count."""
    outside = {row["name"]: row["bytes_per_mutex_outside"] for row in all_locks}
    chosen = ["mcs-spin", *[name for name, size in outside.items() if size]]
    sizes = ["--mutexes", "60000", "--threads", "50", "--runs", "2"]
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


def test_no_lock_has_memory_for_each_mutex_and_thread(
    measure: Any, all_locks: list[dict[str, Any]]
) -> None:
    """The memory of a queue lock for each thread and each held lock is found."""
    sizes = ["--mutexes", "10000", "--threads", "100", "--sharers", "5"]
    document = measure("footprint", "--locks", "all", "--runs", "1", *sizes)
    rows = {row["lock"]: row for row in document["summaries"]}
    assert set(rows) == {"libc", *(lock["name"] for lock in all_locks)}
    for name, row in rows.items():
        assert row["table"]["promise"] == "holds", name
        assert row["figures"]["bytes_per_pair"]["median"] < 0.1
    assert rows["libc"]["figures"]["bytes_per_thread"]["median"] == 0
    assert rows["libc"]["figures"]["bytes_per_held"]["median"] == 0
    assert rows["mcs-stp"]["figures"]["bytes_per_thread"]["median"] > 0
    assert 0.9 < rows["mcs-stp"]["figures"]["bytes_per_held"]["median"] / 64 < 1.1


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


def test_handover_counts_every_acquisition_once(measure: Any) -> None:
    """Per-thread counts, the guarded counter and the counting library agree on the total."""
    document = measure(
        *("handover", "--locks", ",".join(LOCKS), "--runs", "1", "--seconds", "0.05"),
        *("--threads-per-core", "1,2"),
    )
    finals = lines(document, "final")
    assert finals
    for run, line in finals:
        assert sum(line["per_thread"]) == line["acquisitions"] == line["guarded"]
        assert len(line["per_thread"]) == run["threads"]
    counting = {run["lock"]: run["counting"] for run in document["runs"] if "counting" in run}
    assert set(counting) == set(LOCKS)
    for counted in counting.values():
        (line,) = [each for each in counted["lines"] if each["kind"] == "final"]
        assert counted["counts"]["acquisitions"] == line["acquisitions"] == line["guarded"]
        assert counted["counts"]["mutexes"] == 1
        assert counted["counts"]["unresolved"] == 0
    for _, line in lines(document, "measured"):
        assert 0 <= line["least"] <= line["most"] <= line["acquisitions"]


def test_oversubscribe_counts_each_thread_in_each_second(measure: Any) -> None:
    """The windows, the longest wait and the counts belong to the threads that ran."""
    options = ["--locks", "futex", "--runs", "2", "--threads-per-core", "1,2"]
    document = measure("oversubscribe", *options, "--seconds", "1.3")
    assert [row["lock"] for row in document["summaries"]] == ["libc", "futex"] * 2
    for run, line in lines(document, "final"):
        assert sum(line["per_thread"]) == line["acquisitions"] == line["guarded"]
        assert len(line["per_thread"]) == run["threads"]
    for run, line in lines(document, "measured"):
        assert line["threads"] == run["threads"]
        assert 0 < line["longest_wait_ns"] < 1e9 * run["wall"]
        assert line["least_in_a_second"] * line["threads"] <= line["acquisitions"]
    for row in document["summaries"]:
        assert row["figures"]["kept"]["count"] == row["figures"]["ratio"]["count"] == 2
        assert row["table"]["bound"] == ""
    fewest = document["summaries"][0]["threads"]
    assert all(
        r["figures"]["kept"]["median"] == 1 for r in document["summaries"] if r["threads"] == fewest
    )
    assert all(
        r["figures"]["ratio"]["median"] == 1 for r in document["summaries"] if r["lock"] == "libc"
    )


def test_rwlock_measures_readers_and_writers(measure: Any) -> None:
    """The shares of reads are as requested, and no writer is inside beside another thread."""
    options = ["--rwlocks", "keep,mutex,big-reader", "--runs", "2", "--threads-per-core", "2"]
    document = measure("rwlock", *options, "--read-percent", "0,90,100", "--seconds", "0.05")
    names = ["libc", "keep", "mutex", "big-reader"]
    assert [row["lock"] for row in document["summaries"]] == names * 3
    for row in document["summaries"]:
        reads, writes = (
            row["figures"]["reads_per_second"]["median"],
            row["figures"]["writes_per_second"]["median"],
        )
        assert (reads == 0) == (row["read-percent"] == 0)
        assert (writes == 0) == (row["read-percent"] == 100)
        assert row["figures"]["read_pair_ns"]["median"] > 0
        assert row["figures"]["write_pair_ns"]["median"] > 0
    assert all(line["torn"] == 0 for _, line in lines(document, "ended"))


def test_oversubscribe_finds_a_starved_thread(lockwright: Path, tmp_path: Path) -> None:
    """An unfinished wait counts, and so does a second without an acquisition."""
    target = tmp_path / "result.json"
    # A section of some seconds: at most one thread acquires the lock.
    long = ["--section-cycles", "20000000000", "--seconds", "1.3", "--timeout", "4"]
    options = ["--locks", "libc", "--runs", "1", "--threads-per-core", "1"]
    done = call(lockwright, "oversubscribe", *options, *long, "--json", str(target))
    assert done.returncode == 0, done.stderr
    assert "timed out" in done.stdout
    (row,) = json.loads(target.read_text())["summaries"]
    assert row["timeouts"] == 1
    assert row["figures"]["least_in_a_second"]["median"] == 0
    # Nearly the whole duration: its threads may have started late.
    assert row["figures"]["longest_wait_ns"]["median"] > 0.65e9


@pytest.mark.parametrize(
    "variant", [[], ["--unlocked"], ["--rejoin"]], ids=["held", "unlocked", "rejoin"]
)
def test_herd_wakes_every_waiter_at_each_broadcast(measure: Any, variant: list[str]) -> None:
    """Every waiter has exactly one section for each broadcast, and sleeps at least once."""
    document = measure(
        *("herd", "--locks", ",".join(LOCKS), "--runs", "1", "--section-ns", "1000,0"),
        *("--waiters", str(WAITERS), "--rounds-inside", str(BROADCASTS), *variant),
    )
    assert {(row["lock"], row["section-ns"]) for row in document["summaries"]} == {
        (lock, section) for lock in ["libc", *LOCKS] for section in (1000, 0)
    }
    for _, line in lines(document, "final"):
        assert line["sections"] == WAITERS * BROADCASTS
    broadcasts = lines(document, "broadcast")
    assert len(broadcasts) == BROADCASTS * len(document["runs"])
    if "--rejoin" not in variant:
        assert all(line["voluntary"] >= WAITERS for _, line in broadcasts)


def test_park_sleeps(measure: Any) -> None:
    """On one processor each round trip needs a switch to the other thread and one back."""
    document = measure("park", "--runs", "1", "--trips", "500")
    assert document["summaries"][-1]["placement"] == "one processor"
    for run, line in lines(document, "result"):
        if run["placement"] == "one processor":
            assert line["voluntary"] + line["involuntary"] >= line["trips"]


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["uncontended", "--locks", "tas"], "'tas'"),
        (["handover", "--threads-per-core", "many"], "'many'"),
        (["oversubscribe", "--threads-per-core", "0"], "'0'"),
        (["herd", "--section-ns", "-1"], "'-1'"),
        (["footprint", "--mutexes", "10", "--warm", "10"], "--warm 10"),
        (["footprint", "--threads", "10", "--sharers", "11"], "--sharers 11"),
        (["rwlock", "--rwlocks", "big-readers"], "'big-reader'"),
        (["rwlock", "--read-percent", "101"], "--read-percent 101"),
        (["park", "--json", "/nonexistent/result.json"], "/nonexistent/result.json"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    lockwright: Path, arguments: list[str], named: str
) -> None:
    """The line states the error and advice, the status is 2, and there is no other output."""
    done = call(lockwright, *arguments)
    assert_refused(done.returncode, done.stdout, done.stderr, named)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nap"],
        ["park", "--naps", "1"],
        ["park", "--trips"],
        ["park", "--trips", "few"],
        ["park", "--trips", "0"],
        ["footprint", "--warm", "5", "--mutexes", "5"],
        ["footprint", "--threads", "5", "--sharers", "6"],
    ],
)
def test_the_program_refuses_bad_options(arguments: list[str]) -> None:
    """lockwright-bench itself ends with one line and exit status 2."""
    done = captured([bench_run.program(), *arguments])
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("lockwright-bench: ")


@pytest.mark.parametrize(
    ("workload", "option"),
    [("herd", "--waiters 1000  threads that wait"), ("lockbench", "--threads 2")],
)
def test_the_program_prints_the_options_of_a_workload(workload: str, option: str) -> None:
    """They have their defaults, whether `lockwright bench` has the workload or not."""
    done = captured([bench_run.program(), workload, "--help"])
    assert done.returncode == 0
    assert f"  {option}\n" in done.stdout
