"""Programs that change their user or root before they execute the program with mutexes."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lockwright.profile import record

from .conftest import Cli, Program

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
LOCK = "futex"


@pytest.fixture
def public(program: Program, cli: Cli) -> Iterator[Path]:
    """Make a directory that every user may read, with a program and the libraries."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(program("worker"), folder / "worker")
        locks = Path(cli("path", LOCK).out.strip()).parent
        files = [f"liblockwright-{lock}.so" for lock in (LOCK, "pthread")]
        files += [f"counting/{file}" for file in files]
        files += ["locks.json", "layouts.json", "probe/liblockwright-probe.so"]
        for file in files:
            (folder / "lib" / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(locks / file, folder / "lib" / file)
        yield folder


def libdir_variable(public: Path) -> dict[str, str]:
    return {"LOCKWRIGHT_LIBDIR": str(public / "lib")}


def test_stats_of_another_user(cli: Cli, public: Path) -> None:
    words = [*NOBODY, public / "worker", "2", "500"]
    result = cli("run", "--lock", LOCK, "--stats", "--", *words, env=libdir_variable(public))
    assert result.status == 0, result.err
    assert re.search(r"^  acquisitions +1,000$", result.err, re.MULTILINE), result.err


def test_profile_of_another_user(cli: Cli, public: Path, tmp_path: Path) -> None:
    """The profile is that of a second process, which has a separate file."""
    script = f"{public}/worker 1 10; {public}/worker 1 5000; :"
    path = tmp_path / "profile.json"
    words = ["-o", path, "--", *NOBODY, "sh", "-c", script]
    result = cli("profile", *words, env=libdir_variable(public))
    assert result.status == 0, result.err
    profile = record.read(path)
    assert profile.process.lock_calls == 5000
    assert f"it describes process {profile.pid}" in profile.partial
    assert "10 acquisitions" in profile.partial


def test_compare_another_user(cli: Cli, public: Path) -> None:
    words = [*NOBODY, public / "worker", "2", "500"]
    options = ["--locks", f"pthread,{LOCK}", "--runs", "1", "--warm-up-runs", "0"]
    result = cli("compare", *options, "--", *words, env=libdir_variable(public))
    assert result.status == 0, result.err
    assert LOCK in result.out


def test_no_other_user_can_read_the_counters(cli: Cli, public: Path) -> None:
    """Another user cannot list the names of the files."""
    list_files = "ls /dev/shm/lockwright-run-* ${TMPDIR:-/tmp}/lockwright-run-* 2>&1"
    script = (
        f"{public}/worker 1 1 >&2; setpriv --reuid=65533 --clear-groups env -i sh -c '{list_files}'"
    )
    words = ["run", "--lock", LOCK, "--stats", "--", "sh", "-c", f"{script}; :"]
    result = cli(*words, env=libdir_variable(public))
    assert "Permission denied" in result.out
    assert not re.search(r"lockwright-[0-9a-f]{32}", result.out)


def copy_program(program: Path, root: Path) -> None:
    """Copy a program and the libraries that it needs into another root."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for file in [*re.findall(r"(/\S+)", listed)]:
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(file).resolve(), target)
    shutil.copy(program, root / "worker")


def check_not_loaded(cli: Cli, words: Sequence[str | Path], env: dict[str, str]) -> None:
    """Check that all commands report that the program did not load the library."""
    options = ["--locks", f"pthread,{LOCK}", "--runs", "1"]
    results = [
        cli("run", "--lock", LOCK, "--stats", "--", *words, env=env),
        cli("profile", "--", *words, env=env),
        cli("compare", *options, "--", *words, env=env),
    ]
    assert [each.status for each in results] == [0, 0, 2], results
    for each in results:
        assert "became 'worker', which did not load" in each.err
        assert "runs in this root" in each.err
        assert "took no mutex, so" not in each.err


def test_in_another_root(cli: Cli, public: Path, tmp_path: Path) -> None:
    copy_program(public / "worker", tmp_path)
    check_not_loaded(cli, ["chroot", tmp_path, "/worker", "1", "10"], libdir_variable(public))


def test_a_library_that_the_new_user_may_not_read(cli: Cli, public: Path) -> None:
    (public / "lib").chmod(0o700)
    check_not_loaded(cli, [*NOBODY, public / "worker", "1", "10"], libdir_variable(public))
