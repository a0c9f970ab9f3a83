"""Tests of several processes that take few mutexes: one, the busiest, is shown."""

import subprocess
from pathlib import Path

import pytest
from lockwright.profile import record
from support import locate
from support.processes import captured

pytestmark = pytest.mark.skipif(
    bool(locate.emulator() or locate.sanitizer()), reason="the programs are not of this machine"
)


def profile(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = locate.program("profile", "processes")
    return captured([locate.lockwright(), "profile", "-o", path, "--", program, *words])


def test_the_one_that_takes_most_though_few(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    done = profile(path)
    assert done.returncode == 0, done.stderr
    seen = record.read(path)
    assert f"it describes process {seen.pid}" in seen.partial
    (mutex,) = seen.mutexes
    assert mutex.name.endswith("second_mutex")
    assert mutex.type == "recursive"
    # Of all it is known how many, of those since it has a file which mutex.
    assert seen.process.lock_calls == 300
    assert 100 < mutex.acquisitions < 200
    others = (
        "2 other processes that took mutexes are not included (at most 34 acquisitions, no waiting)"
    )
    assert others in seen.partial
    assert others in done.stderr


def test_one_that_may_make_no_file_is_named(tmp_path: Path) -> None:
    done = profile(tmp_path / "profile.json", "limited")
    assert done.returncode == 0
    first, second = done.stderr.splitlines()
    assert first == "lockwright: the program took no mutex"
    assert "one other process that took mutexes is not included" in second
    assert "may be relevant, but could not create a file" in second
