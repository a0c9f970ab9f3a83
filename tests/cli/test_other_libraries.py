"""`--preload` measures a library of another project beside the locks, or refuses it."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.cli import main
from support.processes import shell_script

from .conftest import PROGRAMS, Cli, Program, Result

TTAS_ONCE = ["--locks", "ttas", "--runs", "1", "--set", "batch=1000"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles one of the programs as a shared object."""
    folder = tmp_path_factory.mktemp("other_libraries")

    def make(source: str, name: str, *flags: str) -> Path:
        target = folder / name
        words = ["cc", "-O1", "-fPIC", "-shared", "-pthread", str(PROGRAMS / source), *flags]
        subprocess.run([*words, "-o", str(target)], check=True)
        return target

    return make


@pytest.fixture(scope="module")
def other_mutex(library: Callable[..., Path]) -> Path:
    """Compile a library that implements mutexes."""
    return library("other_mutex.c", "libothermutex.so")


def test_bench_measures_another_library(cli: Cli, other_mutex: Path, tmp_path: Path) -> None:
    """The library serves the calls; it has a libc run beside it, and a row in the table."""
    file = tmp_path / "o.json"
    result = cli(
        "bench", "uncontended", *TTAS_ONCE, "--preload", f"mine={other_mutex}", "--json", file
    )
    assert result.status == 0, result.err
    document = json.loads(file.read_text())
    assert [row["lock"] for row in document["summaries"]] == ["libc", "ttas", "mine"]
    assert all(row["figures"]["ratio"]["count"] == 1 for row in document["summaries"])
    libraries = {(run["lock"], line["mutex"]) for run in document["runs"] for line in run["lines"]}
    assert ("mine", str(other_mutex)) in libraries
    assert sum(path == str(other_mutex) for _, path in libraries) == 1
    assert "mine: the mutex calls" not in result.out
    assert "mine: the cond calls are served by " in result.out


def test_bench_reports_what_another_library_does_not_serve(
    cli: Cli, library: Callable[..., Path]
) -> None:
    """A library without locks is measured too, and reported."""
    other = library("empty.c", "libempty.so")
    result = cli(
        "bench", "uncontended", "--locks", "libc", *TTAS_ONCE[2:], "--preload", f"no={other}"
    )
    assert result.status == 0, result.err
    assert "no: the mutex calls are served by " in result.out
    assert "not by its library" in result.out


def test_compare_measures_other_libraries(
    cli: Cli, other_mutex: Path, program: Program, tmp_path: Path
) -> None:
    """Each round runs them, their results are stored, and one may be the best."""
    cases = 'case $LD_PRELOAD in *libothermutex*) echo "rate: 9";; *) echo "rate: 1";; esac'
    script = shell_script(tmp_path / "rated", f"{program('worker')} 1 1\n{cases}")
    other = tmp_path / "libother.so"
    shutil.copy(other_mutex, other)
    files = {kind: tmp_path / f"o.{kind}" for kind in ("json", "html")}
    words = ["--locks", "ttas", "--runs", "3", "--warm-up-runs", "0", "--metric", r"rate: (\S+)"]
    words += ["--unit", "x", "--preload", f"mine={other_mutex}", "--preload", f"copy={other}"]
    outputs = [word for kind, file in files.items() for word in (f"--{kind}", file)]
    result = cli("compare", *words, *outputs, "--", script)
    assert result.status == 0, result.err
    document = json.loads(files["json"].read_text())
    rates = {run["lock"]: run["value"] for run in document["runs"]}
    assert rates == {"pthread": 1, "ttas": 1, "mine": 9, "copy": 1}
    assert document["plan"]["other_libraries"] == {"mine": str(other_mutex), "copy": str(other)}
    assert result.out.rstrip().endswith(f"env LD_PRELOAD={other_mutex} {script}")
    assert "mine is best" in result.out
    assert str(other) in files["html"].read_text()


def test_compare_names_a_library_without_mutexes(
    cli: Cli, other_mutex: Path, library: Callable[..., Path], program: Program
) -> None:
    """A library that only refers to the functions does not define them."""
    user = library("worker.c", "libuser.so")
    words = ["--locks", "pthread", "--runs", "1", "--warm-up-runs", "0"]
    words += ["--preload", f"mine={other_mutex}", "--preload", f"no={user}"]
    result = cli("compare", *words, "--", program("worker"), "1", "10")
    assert result.status == 0, result.err
    assert f"{user} defines no pthread_mutex_lock: under 'no'" in result.err
    assert "under 'mine'" not in result.err


def test_resume_needs_the_same_libraries(
    cli: Cli, other_mutex: Path, program: Program, tmp_path: Path
) -> None:
    """With other libraries it is another comparison."""
    db = tmp_path / "r.sqlite"
    words = ["compare", "--db", str(db), "--locks", "ttas", "--runs", "1", "--warm-up-runs", "0"]
    command = ["--", str(program("worker")), "1", "10"]
    assert cli(*words, "--preload", f"mine={other_mutex}", *command).status == 0
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE experiment SET finished = NULL")
        connection.execute("DELETE FROM run WHERE contender = 'mine'")
    cli(*words, "--resume", *command).refuses("--locks", "interrupted")
    again = cli(*words, "--preload", f"mine={other_mutex}", "--resume", *command)
    assert again.status == 0, again.err
    with sqlite3.connect(db) as connection:
        count = connection.execute("SELECT count(*) FROM run WHERE contender = 'mine'").fetchone()
    assert count == (1,)


def test_a_library_that_cannot_be_preloaded_is_refused(
    other_mutex: Path,
    library: Callable[..., Path],
    program: Program,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message is one line, and nothing is measured."""

    def call(*words: object) -> Result:
        status = main([str(word) for word in words])
        return Result(status, *capsys.readouterr())

    text = tmp_path / "text.so"
    text.write_text("no library\n")
    foreign = tmp_path / "foreign.so"
    data = bytearray(other_mutex.read_bytes())
    data[18:20] = (243).to_bytes(2, "little")
    foreign.write_bytes(data)
    short = tmp_path / "short.so"
    short.write_bytes(other_mutex.read_bytes()[:70])
    spaced = tmp_path / "a b.so"
    shutil.copy(other_mutex, spaced)
    missing = library("empty.c", "libneedy.so")
    needy = library(
        "other_mutex.c", "libneeding.so", "-Wl,--no-as-needed", f"-L{missing.parent}", "-lneedy"
    )
    missing.unlink()
    for word, *parts in (
        (f"mine={tmp_path}/none.so", "mine", "does not exist"),
        (f"mine={tmp_path}", "is not a file"),
        (f"mine={text}", "is not a shared object"),
        (f"mine={short}", "is not a shared object"),
        (f"mine={program('worker', '-pie', '-fPIE')}", "is not a shared object"),
        (f"mine={program('worker', '-no-pie')}", "is not a shared object"),
        (f"mine={foreign}", "64-bit riscv", "same architecture"),
        (f"mine={spaced}", "space"),
        (f"mine={needy}", "does not load", "libneedy.so", "not found"),
        (f"ttas={other_mutex}", "'ttas' is a lock"),
        (f"null={other_mutex}", "'null' is a lock"),
        (f"libc={other_mutex}", "'libc' is the name of the C library"),
        (f"a,b={other_mutex}", "'a,b' is not a name"),
        (f"={other_mutex}", "'' is not a name"),
        (str(other_mutex), "is not NAME=PATH"),
        ("mine=", "is not NAME=PATH"),
    ):
        call("bench", "uncontended", *TTAS_ONCE, "--preload", word).refuses("--preload", *parts)
    repeated = ["--preload", f"a={other_mutex}", "--preload", f"a={other_mutex}"]
    call("bench", "uncontended", *TTAS_ONCE, *repeated).refuses("names 'a' twice")
    for word, *parts in (
        (f"mine={tmp_path}/none.so", "does not exist"),
        (f"pthread={other_mutex}", "'pthread' is a lock"),
        (f"mine={foreign}", "64-bit riscv"),
    ):
        command = ["--preload", word, "--", program("worker"), "1", "1"]
        call("compare", "--locks", "ttas", *command).refuses(*parts)
