"""A profile can have reader-writer locks as mutexes, which they then are in all that they do."""

import os
from pathlib import Path

import pytest
from lockwright.profile import record
from support import locate
from support.processes import captured


def profiled(tmp_path: Path, *words: str | Path) -> record.Profile:
    """Profile the program in the last words; the first ones are options."""
    path = tmp_path / "profile.json"
    promised = {"LOCKWRIGHT_TEST_RWLOCK": "exclusive"} if "mutex" in words else {}
    done = captured(
        [locate.lockwright(), "profile", "-o", path, *words],
        env=os.environ | promised | {"LOCKWRIGHT_RWLOCK": "phase-fair"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return record.read(path)


@pytest.mark.parametrize("case", ["deadlines", "forks", "second names"])
def test_they_are_mutexes_that_readers_can_take_again(tmp_path: Path, case: str) -> None:
    """The cases check what a thread is told, and which others are inside."""
    found = profiled(tmp_path, "--rwlock", "mutex", locate.program("posix", "rwlocks"), case)
    assert found.process.lock_calls > 0
    assert found.process.rwlock_calls == 0
    assert found.rwlock == "mutex"


@pytest.mark.parametrize(
    "words",
    [
        ["--rwlock", "mutex", "between processes"],
        ["--rwlock", "keep", "recursive reads"],
        ["recursive reads"],
    ],
)
def test_else_and_between_processes_they_are_counted(tmp_path: Path, words: list[str]) -> None:
    """Whatever another command is told to do with them."""
    found = profiled(tmp_path, *words[:-1], locate.program("posix", "rwlocks"), words[-1])
    assert found.process.rwlock_calls > 0
    assert found.process.lock_calls == 0
    assert found.rwlock == ("mutex" if "mutex" in words else "keep")
