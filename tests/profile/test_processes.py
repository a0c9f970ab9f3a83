"""Tests of several processes with few acquisitions: the busiest is reported."""

from pathlib import Path

from support import locate
from support.profiling import profile

pytestmark = locate.native


def test_the_process_with_most_acquisitions_is_reported(tmp_path: Path) -> None:
    profiled, done = profile(tmp_path, locate.program("profile", "processes"))
    assert f"it describes process {profiled.pid}" in profiled.partial
    (mutex,) = profiled.mutexes
    assert mutex.name.endswith("second_mutex")
    assert mutex.type == "recursive"
    assert profiled.process.lock_calls == mutex.acquisitions == 300
    others = (
        "2 other processes that took mutexes are not included (at most 34 acquisitions, no waiting)"
    )
    assert others in profiled.partial
    assert others in done.stderr


def test_a_process_that_cannot_create_a_file_is_named(tmp_path: Path) -> None:
    _, done = profile(tmp_path, locate.program("profile", "processes"), "limited")
    first, second = done.stderr.splitlines()
    assert first == "lockwright: the program took no mutex"
    assert "one other process that took mutexes is not included" in second
    assert "may be relevant, but could not create a file" in second
