"""Tests of the workload rwlock: exclusion, repeatable output, faults, and scaling of readers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from support import locate
from support.simulator import machine_file, run

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

LOCKS = ("pthread", *locate.rwlock_names())
SHORT = ("--workload", "rwlock", "--seconds", "0.0003", "--warm-up", "0.00003")


def simulated(path: Path, *words: str) -> Mapping[str, int]:
    """Run a simulation that has to succeed, and return its line."""
    done = run(path, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    line = json.loads(done.stdout)
    assert isinstance(line, dict)
    return line


@pytest.mark.parametrize("threads", [1, 2, 64, 192])
@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock(lock: str, threads: int, tmp_path: Path) -> None:
    """192 threads outnumber the processors. The same seed gives the same bytes."""
    path = machine_file(tmp_path)
    words = ("--lock", lock, *SHORT, "--threads", str(threads))
    for read_percent in ("0", "50", "95", "100"):
        line = simulated(path, *words, "--read-percent", read_percent, "--burst", "3")
        # Where waiters poll and outnumber the processors, the time may be too short for a section.
        assert line["reads"] + line["writes"] >= (1 if threads <= 64 else 0)
        assert read_percent != "0" or line["reads"] == 0
        assert read_percent != "100" or line["writes"] == 0
    again = (*words, "--read-percent", "50")
    assert run(path, *again).stdout == run(path, *again).stdout


@pytest.mark.parametrize("lock", LOCKS)
def test_readers_are_inside_together(lock: str, tmp_path: Path) -> None:
    words = ("--lock", lock, *SHORT, "--threads", "16", "--section-cycles", "20000")
    line = simulated(machine_file(tmp_path), *words, "--read-percent", "100")
    assert line["most_readers"] > 8


@pytest.mark.parametrize("lock", LOCKS)
def test_every_lock_is_interrupted(lock: str, tmp_path: Path) -> None:
    """Threads are preempted between any two steps."""
    path = machine_file(tmp_path, 2)
    words = ("--lock", lock, "--workload", "rwlock", "--seconds", "0.002")
    for threads, read_percent in (("3", "50"), ("7", "80"), ("5", "0")):
        options = ("--threads", threads, "--read-percent", read_percent)
        line = simulated(path, *words, *options, "--interrupt-every", "200")
        assert line["writes"] > 0


@pytest.mark.parametrize("lock", LOCKS)
def test_sleepers_of_short_sections(lock: str, tmp_path: Path) -> None:
    """Readers and writers sleep, and others come and go between their last look and their sleep."""
    words = ("--lock", lock, "--workload", "rwlock", "--seconds", "0.002", "--read-percent", "50")
    options = ("--threads", "16", "--section-cycles", "200", "--gap-cycles", "400")
    assert simulated(machine_file(tmp_path), *words, *options)["writes"] > 0


FAULTS = {
    "rw_counts_late": "is inside as a reader beside writer",
    "rw_passes_readers": "is inside as a writer beside 1 readers",
    "rw_forgets_sleepers": "sleeps and no thread wakes it",
    "rw_refuses": "it did not admit a reader",
}
"""The message for each fault of broken_rwlock.hpp."""


@pytest.mark.parametrize("fault", ["rw_sound", *FAULTS])
def test_a_broken_lock_is_detected(fault: str, tmp_path: Path) -> None:
    """The same lock without fault succeeds with every seed."""
    library = str(locate.program("lab/simulate", f"{fault}.so"))
    words = ("--load", library, "--workload", "rwlock", "--threads", "3", "--seconds", "0.005")
    options = ("--read-percent", "50", "--interrupt-every", "100")
    path = machine_file(tmp_path)
    runs = [run(path, *words, *options, "--seed", str(seed)) for seed in range(1, 6)]
    if fault == "rw_sound":
        assert [done.returncode for done in runs] == [0] * 5
        return
    found = [done for done in runs if FAULTS[fault] in done.stderr]
    assert found, [done.stderr for done in runs]
    assert {done.returncode for done in found} == {1}


def test_overlapping_readers_starve_a_writer(tmp_path: Path) -> None:
    """Where long sections of readers overlap, a writer waits to the end of the measured time under
    the C library's lock, which prefers readers, and briefly under one that does not."""
    path = machine_file(tmp_path)
    words = ("--workload", "rwlock", "--threads", "16", "--seconds", "0.002", "--read-percent")
    sections = ("99", "--section-cycles", "20000", "--gap-cycles", "1000")
    waits = {
        lock: simulated(path, "--lock", lock, *words, *sections)["longest_write_wait_ps"]
        for lock in ("pthread", "phase-fair", "futex-rw")
    }
    assert waits["pthread"] > 1_000_000_000
    assert max(waits["phase-fair"], waits["futex-rw"]) < 200_000_000


@pytest.mark.parametrize("keep_ps", [0, 15_000])
@pytest.mark.parametrize(
    "lock", ["pthread", "big-reader", "bravo-futex-rw", "c-rw-rp", "adaptive-rw"]
)
def test_distributed_readers_scale_linearly(lock: str, keep_ps: int, tmp_path: Path) -> None:
    """With 64 processors and reads only, each thread has at least 0.9 times its throughput with one
    thread under locks with distributed readers, and less than a quarter under the C library's."""
    path = machine_file(tmp_path, keep_ps=keep_ps)
    words = ("--lock", lock, "--workload", "rwlock", "--read-percent", "100", "--threads")
    one, all_ = (
        simulated(path, *words, threads, "--seconds", "0.001", "--warm-up", "0.0005")["operations"]
        for threads in ("1", "64")
    )
    share = all_ / (64 * one)
    assert share < 0.25 if lock == "pthread" else share >= 0.9


def test_readers_of_short_sections_come_apart(tmp_path: Path) -> None:
    """Many threads begin at once at the word of adaptive-rw, where most of their attempts fail."""
    words = ("--lock", "adaptive-rw", "--workload", "rwlock", "--read-percent", "100")
    sections = ("--section-cycles", "20", "--gap-cycles", "40", "--seconds", "0.001", "--threads")
    path = machine_file(tmp_path)
    one, all_ = (simulated(path, *words, *sections, each)["operations"] for each in ("1", "256"))
    assert all_ > 32 * one


def test_threads_stand_aside_where_sections_are_short(tmp_path: Path) -> None:
    """Two threads of adaptive-rw that write at a high rate lose little to one, and two that would
    not have the line of the lock at once gain, on two processors."""
    words = ("--lock", "adaptive-rw", "--workload", "rwlock", "--read-percent", "0", "--seconds")
    path = machine_file(tmp_path, 2)
    for section, gap, least in (("20", "40", 0.75), ("200", "400", 1.1)):
        sections = ("0.003", "--section-cycles", section, "--gap-cycles", gap, "--threads")
        one, two = (simulated(path, *words, *sections, each)["operations"] for each in ("1", "2"))
        assert two > least * one


def test_readers_stay_apart_beside_few_writers(tmp_path: Path) -> None:
    """Two threads of adaptive-rw whose readers were back at the word after each writer would gain
    nothing over one thread."""
    words = ("--lock", "adaptive-rw", "--workload", "rwlock", "--read-percent", "99", "--seconds")
    sections = ("0.003", "--section-cycles", "20", "--gap-cycles", "40", "--threads")
    path = machine_file(tmp_path, 2)
    one, two = (simulated(path, *words, *sections, each)["operations"] for each in ("1", "2"))
    assert two > 1.4 * one


def test_bad_requests(tmp_path: Path) -> None:
    path = machine_file(tmp_path)
    good = {"--lock": "futex-rw", "--workload": "rwlock", "--threads": "2"}
    for option, value, message in (
        ("--lock", "futex", "no lock 'futex'"),
        ("--read-percent", "101", "'--read-percent' is above 100"),
        ("--read-percent", "-1", "'--read-percent' is out of range; give 0 or more"),
        ("--burst", "0", "'--burst' is out of range; give 1 or more"),
        ("--workload", "single-lock", "no lock 'futex-rw'"),
        ("--load", str(locate.program("lab/simulate", "no_wake.so")), "cannot load the lock"),
    ):
        words = [word for pair in {**good, option: value}.items() for word in pair]
        done = run(path, *words)
        assert (done.returncode, done.stdout) == (2, ""), (option, done.stdout)
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
