"""Files with faults are read or refused in one line; `./dev fuzz-files` reads more of them."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright import cli
from lockwright.elf.file import load
from support import file_fuzzing, locate
from support.made_profile import made_profile

#: More files by `./dev fuzz-files`, from other seeds.
NUMBER = os.environ.get("LOCKWRIGHT_FUZZ_FILES")
SEEDS = range(1000, 1000 + int(NUMBER)) if NUMBER else range(40 if locate.all_tests() else 8)


@pytest.mark.parametrize("reader", file_fuzzing.READERS, ids=lambda reader: reader.name)
def test_file_with_faults(reader: file_fuzzing.Reader, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    assert file_fuzzing.problems_of(reader, folder, SEEDS) == {}


def test_a_number_for_the_name_of_a_thread(tmp_path: Path) -> None:
    profile = json.loads(made_profile().to_json())
    profile["thread_names"]["2"] = float("nan")
    (tmp_path / "p.json").write_text(json.dumps(profile))
    assert cli.main(["export", str(tmp_path / "p.json"), "-o", str(tmp_path / "p.html")]) == 2


def test_a_span_that_begins_after_its_end(tmp_path: Path) -> None:
    profile = json.loads(made_profile().to_json())
    profile["timeline"][-1]["begin"] = 2**31
    (tmp_path / "p.json").write_text(json.dumps(profile))
    status = cli.main(["export", str(tmp_path / "p.json"), "-o", str(tmp_path / "p.pb.gz")])
    assert status == 2


def test_a_pipe_in_the_place_of_a_program(tmp_path: Path) -> None:
    """Nobody writes to it: reading it would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert load(pipe).header is None
    assert load(pipe).sections == {}


def write_outside(path: Path) -> int:
    (path.parent.parent / "outside").write_text("x")
    return 0


def execute(_: Path) -> int:
    import subprocess

    return subprocess.run(["true"], check=False).returncode


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda _: 3, "exit status 3"),
        (lambda _: [][1], "IndexError"),
        (write_outside, "written"),
        (execute, "executed"),
    ],
)
def test_a_fault_of_a_reader_is_found(
    read: Callable[[Path], int], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "valid-x.csv").write_text("a,b\n")
    reader = file_fuzzing.Reader("faulty", "x.csv", lambda _: None, read)
    assert message in file_fuzzing.problem_of(reader, folder, 1)


def test_faults_among_many_files_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "valid-x.csv").write_text("a,b\n")
    reads = 0

    def read(_: Path) -> int:
        """Fail at every other file that a process reads."""
        nonlocal reads
        reads += 1
        if reads == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    reader = file_fuzzing.Reader("faulty", "x.csv", lambda _: None, read)
    problems = file_fuzzing.problems_of(reader, folder, range(5))
    assert list(problems) == [1, 3]
    assert all("not alone: ended by signal 9" in text for text in problems.values())
