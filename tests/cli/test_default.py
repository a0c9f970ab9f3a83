"""What `lockwright run` puts in place without an option, by its other names."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from advise import examples
from lockwright.preload import rwlocks
from lockwright.preload.locks import DEFAULT_LOCK, RWLOCK, registry
from lockwright.profile.record import RwLock
from lockwright.tune import preparation, priors
from lockwright.tune.search import Search
from support.processes import captured

from .conftest import Cli, Program

READ = """
import ctypes
lock, libc = (ctypes.c_uint32 * 16)(), ctypes.CDLL(None)
libc.pthread_rwlock_init(lock, None)
libc.pthread_rwlock_rdlock(lock)
print(list(lock))
"""
"""Prints the words of a reader-writer lock with one reader."""


def words_under(library: str, **variables: str) -> str:
    path = registry().path_of(DEFAULT_LOCK).with_name(library)
    env = os.environ | {"LD_PRELOAD": str(path)} | variables
    done = captured([sys.executable, "-c", READ], env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_library_of_the_default() -> None:
    """It replaces reader-writer locks, too, unless the environment says otherwise."""
    lock, default = f"liblockwright-{DEFAULT_LOCK}.so", "liblockwright.so"
    adaptive = words_under(lock, LOCKWRIGHT_RWLOCK="adaptive-rw")
    assert adaptive != words_under(lock)
    assert words_under(default) == adaptive
    assert words_under(default, LOCKWRIGHT_RWLOCK="keep") == words_under(lock)


def test_it_is_a_contender(cli: Cli, program: Program, tmp_path: Path) -> None:
    """Its runs have its reader-writer lock, those of the others the C library's."""
    report, log = tmp_path / "report.json", tmp_path / "log"
    script = f"echo $LOCKWRIGHT_RWLOCK >> {log}; exec {program('rwlock')}"
    done = cli(
        "compare", "--locks", "default,ttas", "--runs", "1", "--warm-up-runs", "0",
        "--json", report, "--", "sh", "-c", script,
    )  # fmt: skip
    assert done.status == 0, done.err
    rows = json.loads(report.read_text())["summaries"]
    assert sorted(row["lock"] for row in rows) == ["default", "pthread", "ttas"]
    # The others are probe runs.
    assert sorted(log.read_text().split()[-3:]) == ["adaptive-rw", "keep", "keep"]


@pytest.mark.parametrize("verb", ["compare", "tune"])
def test_it_has_a_reader_writer_lock_of_its_own(cli: Cli, verb: str) -> None:
    words = [verb, "--locks", "default", "--rwlock", "mutex", "--", "true"]
    cli(*words).refuses("'default' has a reader-writer lock of its own", f"name {DEFAULT_LOCK}")


@pytest.mark.parametrize("waits_for", ["mutex", "table", "mutex and table"])
def test_a_race_has_it_once(waits_for: str) -> None:
    """It stands for its lock, from which the search expects as much."""
    waited = [0.5 * examples.SECOND * (name in waits_for) for name in ("mutex", "table")]
    mutex, readers = (
        examples.mutex(held=1e6, contended=100, waited=each, threads=2) for each in waited
    )
    table = RwLock("table", mutex.place, 7, 1, 2, readers, examples.mutex())
    profile = replace(examples.profile(mutex, lock_calls=1e5), rwlocks=(table,))
    found = preparation.from_profile(profile, registry(), priors.read(priors.PUBLISHED))
    names = [*found.locks, *found.reserves]
    assert names.count("default") == 1
    assert DEFAULT_LOCK not in names
    assert len(set(names)) == len(names)
    if "mutex" in waits_for:
        assert found.expected["default"] == 0
        search = Search.among(found.expected, priors.read(priors.PUBLISHED))
        assert "default" in search.locks
    if "table" in waits_for:
        assert f"{DEFAULT_LOCK}/mutex" in names


def test_its_path_and_its_parts(cli: Cli) -> None:
    path = cli("path", "default").out.strip()
    assert Path(path).name == "liblockwright.so"
    described = cli("info", "default").out
    for word in (DEFAULT_LOCK, "adaptive-rw", "lockwright run -- COMMAND"):
        assert word in described
    assert path in described.replace("\n", "").replace(" ", "")


def test_run_takes_it_by_name(cli: Cli) -> None:
    replaced = [
        cli("run", *words, "--", "printenv", RWLOCK).out for words in ([], ["--lock", "default"])
    ]
    assert replaced == ["adaptive-rw\n"] * 2


def test_its_options() -> None:
    assert rwlocks.run_options(rwlocks.DEFAULT) == []
    assert rwlocks.compare_options(["pthread", rwlocks.DEFAULT]) == ["--locks", "pthread,default"]
