"""Input that `lockwright compare` refuses, if possible before any run."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from support.processes import captured, shell_script

from .conftest import Cli, Program

METRIC = ["--metric", r"rate: ([0-9.]+)", "--unit", "ops"]


def test_a_program_that_takes_no_mutex(cli: Cli, program: Program) -> None:
    """The first run finds that."""
    cli("compare", "--", program("idle")).refuses("took no mutex")


def test_a_program_whose_mutexes_are_all_the_c_librarys(cli: Cli, program: Program) -> None:
    cli("compare", "--", program("shared")).refuses("stay with the C library")


def test_a_program_that_fails(cli: Cli, program: Program) -> None:
    """The line has the program's status or signal, and the last line of its standard error."""
    cli("compare", "--", program("ends"), "3").refuses("exit status 3")
    cli("compare", "--", program("ends"), "-11").refuses("SIGSEGV")
    cli("compare", "--", "sh", "-c", "echo first >&2; echo last >&2; exit 1").refuses("last")


def test_a_program_that_hangs(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The first run has the same limit as the others."""
    words = [program("family"), tmp_path / "pids", "pthread"]
    cli("compare", "--timeout", "3", "--", *words).refuses("took more than 3 s", "--timeout")
    assert not Path("/proc", (tmp_path / "pids").read_text().strip()).exists()


def test_a_prepare_command_that_fails(cli: Cli, program: Program) -> None:
    """The message names it; its output cannot control the terminal."""
    words = ["--prepare", "printf 'no \\033[31mdisk' >&2; exit 4", "--", program("worker")]
    result = cli("compare", *words, "1", "1")
    result.refuses("--prepare command: exit status 4", "no ?[31mdisk")


def test_a_metric_that_does_not_match(cli: Cli, program: Program) -> None:
    """Nothing matches, or the match is no number."""
    words = [program("worker"), "1", "10"]
    cli("compare", "--metric", "speed: (.*)", "--unit", "x", "--", *words).refuses("no match")
    cli("compare", "--metric", "(rate)", "--unit", "x", "--", *words).refuses("not a number")
    result = cli("compare", "--metric", r"rate: \d+", "--unit", "x", "--", *words)
    result.refuses("'rate: 10', which is not a number", "( ) around the number")


def test_resume_without_anything_to_resume(cli: Cli, program: Program) -> None:
    """There is no results file, or all its comparisons are finished."""
    words = ["--locks", "ttas", "--runs", "1", "--", program("worker"), "1", "10"]
    cli("compare", "--resume", *words).refuses("--resume")
    assert cli("compare", *words).status == 0
    result = cli("compare", "--resume", *words)
    assert result.status == 2
    assert "no interrupted comparison" in result.err


def test_a_file_that_is_no_database(cli: Cli, program: Program, tmp_path: Path) -> None:
    file = tmp_path / "letter"
    file.write_text("Dear reader, " * 100)
    cli("compare", "--db", file, "--", program("worker"), "1", "10").refuses(str(file))
    assert file.read_text() == "Dear reader, " * 100


def test_a_database_of_another_program(cli: Cli, program: Program, tmp_path: Path) -> None:
    file = tmp_path / "bookmarks"
    with sqlite3.connect(file) as base:
        base.execute("CREATE TABLE bookmark (name)")
    before = file.read_bytes()
    words = ["--db", file, "--", program("worker"), "1", "10"]
    cli("compare", *words).refuses("another program", "--db")
    assert file.read_bytes() == before
    with sqlite3.connect(file) as base:
        base.execute("PRAGMA user_version = 99")
    cli("compare", *words).refuses("format 99", "--db")


def test_no_directory_for_results(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The directory of the user's state cannot be made."""
    (tmp_path / "file").touch()
    words = ["compare", "--locks", "ttas", "--", program("worker"), "1", "10"]
    cli(*words, env={"XDG_STATE_HOME": str(tmp_path / "file")}).refuses("--db")


def full_device(folder: Path) -> Path:
    """Return a full device, which a faulty test may destroy without harm to the system."""
    if os.getuid() != 0:
        return Path("/dev/full")
    path = folder / "full"
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 7))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    return path


def test_a_full_device_loses_no_result(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The table and an error are printed, and --resume writes the file from the stored runs."""
    device = full_device(tmp_path)
    words = [*METRIC, "--locks", "ttas", "--runs", "2", "--", program("worker"), "1", "10"]
    result = cli("compare", "--json", device, *words)
    assert result.status == 2
    assert result.err.splitlines()[-1].startswith(f"lockwright: cannot write --json {device}: No ")
    assert "ttas" in result.out
    assert device.is_char_device(), "a file has replaced the device"
    target = tmp_path / "o.json"
    again = cli("compare", "--resume", "--json", target, *words)
    assert again.status == 0, again.err
    assert "round" not in again.err, "nothing was run again"
    assert target.stat().st_size > 1000


FULL_DISK = r"""
set -u
mount -t tmpfs -o size=160k tmpfs "$DISK" || exit 77
"$@"; echo "status $?"
mount -o remount,size=8m "$DISK"
RESUME=1; export RESUME
"$@" --resume; echo "status $?"
python3 -c "
import sqlite3
base = sqlite3.connect('$DISK/db')
rows = base.execute('SELECT count(*), count(DISTINCT contender || round) FROM run').fetchone()
print('runs', *rows)
"
"""


def test_a_full_disk_stops_with_one_line_and_resume_completes(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """The file system of the results is too small; once it has grown, no result is missing."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [
        *command,
        'compare "$@" --db',
        str(disk / "db"),
        "--locks ttas --runs 60 --warm-up-runs 0",
    ]
    line = f"exec {' '.join(words)} -- {program('worker')} 1 10"
    wrapper = shell_script(tmp_path / "wrapper", line)
    # A mount in a separate namespace disappears with it.
    namespace = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    done = captured(
        [*namespace, "sh", "-c", FULL_DISK, "sh", str(wrapper)],
        env=environment | {"DISK": str(disk)},
    )
    if done.returncode != 0 and "status" not in done.stdout:
        pytest.skip(f"cannot mount a file system: {done.stderr.strip()}")
    states = [line for line in done.stdout.splitlines() if line.startswith(("status", "runs"))]
    assert states == ["status 2", "status 0", "runs 120 120"], done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if "cannot write" in line]
    assert len(errors) == 1
    assert "--resume" in errors[0]
    assert "Traceback" not in done.stderr
