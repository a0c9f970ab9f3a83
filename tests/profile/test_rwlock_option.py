"""Tests of `profile --rwlock mutex`, under which reader-writer locks are mutexes."""

import os
from pathlib import Path

import pytest
from lockwright.profile import record
from support import harness, locate
from support.processes import captured


def profiled(tmp_path: Path, *words: str | Path) -> record.Profile:
    """Profile a program. words: options, the program and its arguments."""
    path = tmp_path / "profile.json"
    expected = {"LOCKWRIGHT_TEST_RWLOCK": "exclusive"} if "mutex" in words else {}
    done = captured(
        [locate.lockwright(), "profile", "-o", path, *words],
        env=os.environ | expected | harness.shorter() | {"LOCKWRIGHT_RWLOCK": "phase-fair"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return record.read(path)


@pytest.mark.parametrize("case", ["deadlines", "forks", "aliases"])
def test_readers_can_acquire_the_lock_again(tmp_path: Path, case: str) -> None:
    """The program checks the results of the calls, and the threads in the section."""
    profile = profiled(tmp_path, "--rwlock", "mutex", locate.program("posix", "rwlocks"), case)
    assert profile.process.lock_calls > 0
    assert profile.process.rwlock_calls == 0
    assert profile.rwlock == "mutex"


@pytest.mark.parametrize("words", [["--rwlock", "mutex"], ["--rwlock", "keep"], []])
def test_process_shared_ones_are_only_counted(tmp_path: Path, words: list[str]) -> None:
    """LOCKWRIGHT_RWLOCK, which is for other commands, has no effect."""
    program = locate.program("posix", "rwlocks")
    profile = profiled(tmp_path, *words, program, "between processes")
    assert profile.process.rwlock_calls > 0
    assert profile.process.lock_calls == 0
    assert profile.rwlocks == ()
    assert profile.rwlock == ("mutex" if "mutex" in words else "keep")


@pytest.mark.parametrize("words", [["--rwlock", "keep"], []])
@pytest.mark.parametrize("case", ["recursive reads", "deadlines", "aliases"])
def test_others_are_profiled_as_what_they_are(tmp_path: Path, words: list[str], case: str) -> None:
    profile = profiled(tmp_path, *words, locate.program("posix", "rwlocks"), case)
    assert profile.process.rwlock_calls == 0
    assert profile.process.lock_calls == 0
    assert sum(each.acquisitions for each in profile.rwlocks) > 0
