"""Files with faults are read or refused in one line; `./dev fuzz-files` reads more of them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support import file_fuzzing

SEEDS = range(1, 21)


@pytest.mark.parametrize("reader", file_fuzzing.READERS, ids=lambda reader: reader.name)
def test_file_with_faults(reader: file_fuzzing.Reader, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    problems = {seed: file_fuzzing.problem_of(reader, folder, seed) for seed in SEEDS}
    assert not any(problems.values()), {seed: text for seed, text in problems.items() if text}


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
