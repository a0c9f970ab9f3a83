"""Tests of servers, databases and runtimes under a lock of every category, the default lock among
them, and of programs with reader-writer locks under each of these."""

import json
import tempfile
from pathlib import Path

import pytest
from lockwright.preload.rwlocks import rwlocks
from lockwright_lab.study.campaign.local_machine import missing
from lockwright_lab.study.program import catalogue
from support import locate
from support.processes import captured

PROGRAMS = [
    "mariadb-read-write",
    "memcached",
    "rocksdb-fillrandom",
    "rocksdb-readwhilewriting",
    "nginx-pool",
    "stress-ng-fork",
    "java-threads",
]
#: Programs that take minutes, in which each process would take the lock as in the others.
LONG = ["python-tests", "python-pools", "python-processes"]
FULL = pytest.mark.full("takes minutes; other programs wait for as many objects")
LOCKS = ["pthread", "futex", "mcs-stp", "c-bo-mcs-stp", "adaptive"]
PLAN = """
endings = true
locks = {locks}
threads_per_processor = [4]
runs = 1
most_runs = 1
scale = 0.1
programs = ["{program}"]
"""


RWLOCK_PROGRAMS = ["haproxy-tls", "kyoto-hash", "kyoto-tree", "shared-mutex-cache"]
RWLOCK_PLAN = """
endings = true
rwlocks = {locks}
threads = {threads}
runs = 1
most_runs = 1
scale = 0.1
programs = ["{program}"]
"""


def check_endings(folder: Path, program: str, plan: str, runs: int, **values: object) -> None:
    """Check that all runs of a plan end correctly. Such a plan fails if a run took no lock."""
    if absent := missing(catalogue.find(program)):
        pytest.skip(f"{', '.join(absent)} is not installed; see tests/apps/more-packages.txt")
    file = folder / "services.toml"
    file.write_text(plan.format(program=program, **values))
    # The path of a database's socket has to be short.
    with tempfile.TemporaryDirectory(prefix="services-") as cache:
        done = captured(
            [locate.lockwright(), "study", "run", file, "--cache", cache],
            timeout=3000,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f": {runs} runs\n"), done.stdout + done.stderr


@pytest.mark.timeout(3300)
@pytest.mark.parametrize("program", [*PROGRAMS, *(pytest.param(name, marks=FULL) for name in LONG)])
def test_program(tmp_path: Path, program: str) -> None:
    """The plan has four threads for each processor, and requires correct ends. The short run has
    one lock for each program, beside the C library's, and each lock."""
    locks = LOCKS
    if not locate.all_tests():
        locks = ["pthread", LOCKS[1 + [*PROGRAMS, *LONG].index(program) % (len(LOCKS) - 1)]]
    check_endings(tmp_path, program, PLAN, len(locks), locks=json.dumps(locks))


@pytest.mark.timeout(660)
@pytest.mark.parametrize("program", RWLOCK_PROGRAMS)
def test_program_with_reader_writer_locks(tmp_path: Path, program: str) -> None:
    """The plan has two thread counts, every reader-writer lock and the C library's. The short run
    has one thread count and two locks for each program."""
    names = list(rwlocks())
    threads = [2, 8]
    if not locate.all_tests():
        first = 2 * RWLOCK_PROGRAMS.index(program)
        names = [names[(first + i) % len(names)] for i in range(2)]
        threads = [8]
    runs = len(threads) * (1 + len(names))
    check_endings(tmp_path, program, RWLOCK_PLAN, runs, locks=json.dumps(names), threads=threads)
