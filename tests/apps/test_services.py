"""Tests of servers, databases and runtimes under a lock of every category."""

import tempfile
from pathlib import Path

import pytest
from lockwright.study.campaign.site import missing
from lockwright.study.program import catalogue
from support import locate
from support.processes import captured

PROGRAMS = [
    "mariadb-read-write",
    "memcached",
    "rocksdb-fillrandom",
    "rocksdb-readwhilewriting",
    "nginx-pool",
    "python-tests",
    "stress-ng-fork",
    "java-threads",
]
#: Programs that take minutes.
PROGRAMS += ["python-pools", "python-processes"] if locate.LONG else []
PLAN = """
endings = true
locks = ["pthread", "futex", "mcs-stp", "c-bo-mcs-stp", "malth-stp"]
threads_per_processor = [4]
runs = 1
most_runs = 1
scale = 0.1
programs = ["{program}"]
"""


@pytest.mark.timeout(3300 if locate.LONG else 660)
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(tmp_path: Path, program: str) -> None:
    """The plan has four threads for each processor, and requires correct ends."""
    if absent := missing(catalogue.find(program)):
        pytest.skip(f"{', '.join(absent)} is not installed; see tests/apps/more-packages.txt")
    plan = tmp_path / "services.toml"
    plan.write_text(PLAN.format(program=program))
    # The path of a database's socket has to be short.
    with tempfile.TemporaryDirectory(prefix="services-") as cache:
        done = captured(
            [locate.lockwright(), "study", "run", plan, "--cache", cache],
            timeout=3000 if locate.LONG else 600,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    # Such a plan fails if a run took no lock.
    assert done.stdout.endswith(": 5 runs\n"), done.stdout + done.stderr
