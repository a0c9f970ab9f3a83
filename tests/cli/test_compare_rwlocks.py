"""`compare --rwlocks` runs each lock with each reader-writer lock."""

import json
from pathlib import Path

import pytest
from lockwright.preload import rwlocks

from .conftest import Cli, Program

ONE_RUN = ["--runs", "1", "--warm-up-runs", "0"]


def compared(cli: Cli, program: Program, tmp_path: Path, *words: str) -> list[str]:
    """Return the names of the report's rows."""
    report = tmp_path / "report.json"
    done = cli("compare", *words, *ONE_RUN, "--json", str(report), "--", str(program("rwlock")))
    assert done.status == 0, done.err
    return sorted(row["lock"] for row in json.loads(report.read_text())["summaries"])


def test_without_locks_only_reader_writer_locks_differ(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """The C library's is added as the baseline."""
    names = compared(cli, program, tmp_path, "--rwlocks", "futex-rw,mutex,futex-rw")
    assert names == ["pthread", "pthread/futex-rw", "pthread/mutex"]


def test_crossed_with_locks(cli: Cli, program: Program, tmp_path: Path) -> None:
    names = compared(cli, program, tmp_path, "--locks", "ttas", "--rwlocks", "keep,mcs-rw")
    assert names == ["pthread", "pthread/mcs-rw", "ttas", "ttas/mcs-rw"]


def test_each_run_has_its_reader_writer_lock(cli: Cli, tmp_path: Path) -> None:
    """Whatever the environment selects."""
    log = tmp_path / "log"
    script = (
        "import ctypes, os\n"
        "lock = ctypes.create_string_buffer(64)\n"
        "libc = ctypes.CDLL(None)\n"
        "libc.pthread_rwlock_wrlock(lock)\n"
        "libc.pthread_rwlock_unlock(lock)\n"
        f"open({str(log)!r}, 'a').write(os.environ['LOCKWRIGHT_RWLOCK'] + ' ')"
    )
    words = ["--rwlocks", "phase-fair", *ONE_RUN, "--", "python3", "-c", script]
    done = cli("compare", *words, env={"LOCKWRIGHT_RWLOCK": "mutex"})
    assert done.status == 0, done.err
    # The others are probe runs.
    assert sorted(log.read_text().split()[-2:]) == ["keep", "phase-fair"]


def test_bad_input_is_refused(cli: Cli) -> None:
    for words, parts in (
        (["--rwlocks", "phasefair"], ("--rwlocks", "did you mean 'phase-fair'?")),
        (["--rwlocks", "keep"], ("names no lock beside", "mutex")),
        (["--rwlocks", "mutex", "--rwlock", "mutex"], ("exclude each other",)),
    ):
        cli("compare", *words, "--", "true").refuses(*parts)
        cli("tune", *words, "--", "true").refuses(*parts)


def test_a_program_without_reader_writer_locks_is_refused(cli: Cli) -> None:
    script = "import threading; threading.Lock()"
    words = ["--rwlocks", "mutex", *ONE_RUN, "--", "python3", "-c", script]
    cli("compare", *words).refuses("took no reader-writer lock")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ttas", ["--lock", "ttas"]),
        ("ttas/phase-fair", ["--lock", "ttas", "--rwlock", "phase-fair"]),
        ("pthread/mutex", ["--lock", "pthread", "--rwlock", "mutex"]),
    ],
)
def test_the_options_of_a_pair(name: str, options: list[str]) -> None:
    assert rwlocks.run_options(name) == options
    assert rwlocks.pair_name(*rwlocks.parts_of(name)) == name


def test_the_options_that_compare_pairs() -> None:
    names = ["pthread", "ttas/phase-fair"]
    expected = ["--locks", "pthread,ttas", "--rwlocks", "keep,phase-fair"]
    assert rwlocks.compare_options(names) == expected
    assert rwlocks.compare_options(["pthread", "ttas"]) == ["--locks", "pthread,ttas"]


def test_info_describes_a_reader_writer_lock(cli: Cli) -> None:
    for row in json.loads(cli("list", "--reader-writer", "--json", "-").out):
        text = " ".join(cli("info", row["name"]).out.split())
        assert row["summary"] in text
        assert row["reference"] in text
        assert row["patents"] in text
        assert f"--rwlock {row['name']}" in text
