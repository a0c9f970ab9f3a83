"""A run leaves nothing in shared memory or among temporary files, however it ends."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.base import shared_files
from support.processes import captured, wait_until

from .conftest import Program

COMMANDS = pytest.mark.parametrize(
    "words", [["run", "--lock", "futex", "--stats"], ["profile"]], ids=["stats", "profile"]
)


def left(folder: Path) -> list[Path]:
    return [*folder.glob("lockwright-*")]


@contextlib.contextmanager
def started(
    words: list[str], environment: dict[str, str], folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command with a waiting program and files in `folder`; kill its session at the end."""
    with subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert len(left(folder)) == 1
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "temporary"
    path.mkdir()
    return path


@pytest.fixture
def only_folder(environment: dict[str, str], folder: Path, tmp_path: Path) -> dict[str, str]:
    """Return an environment in which commands can write files only to `folder`."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "from lockwright.base import shared_files\nshared_files._MEMORY = '/nowhere'\n"
    )
    return environment | {"TMPDIR": str(folder), "PYTHONPATH": str(hook)}


@COMMANDS
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name
)
@pytest.mark.parametrize("to_all", [False, True], ids=["command", "group"])
def test_a_run_that_is_ended(
    command: list[str],
    only_folder: dict[str, str],
    folder: Path,
    program: Program,
    words: list[str],
    number: signal.Signals,
    to_all: bool,
) -> None:
    """After SIGKILL of the command alone the program continues."""
    with started([*command, *words, "--", str(program("waits"))], only_folder, folder) as process:
        (os.killpg if to_all else os.kill)(process.pid, number)
        process.wait(60)
        wait_until(lambda: not left(folder))


@COMMANDS
def test_a_run_that_is_killed_with_its_guard(
    command: list[str],
    only_folder: dict[str, str],
    folder: Path,
    program: Program,
    words: list[str],
) -> None:
    """The next run removes its files, but no files in use."""
    line = [*command, *words, "--", str(program("waits"))]
    with started(line, only_folder, folder) as process:
        (used,) = left(folder)
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (guard,) = (
            int(each)
            for each in listed
            if b"lockwright-guard" in Path(f"/proc/{each}/cmdline").read_bytes()
        )
        os.kill(guard, signal.SIGKILL)
        again = [*command, *words, "--", "true"]
        subprocess.run(again, env=only_folder, capture_output=True, check=True, timeout=60)
        assert left(folder) == [used]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        assert left(folder) == [used]
        subprocess.run(again, env=only_folder, capture_output=True, check=True, timeout=60)
        assert left(folder) == []


def test_full_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole file is elsewhere, and the incomplete one is removed."""
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    monkeypatch.setattr(shared_files, "_MEMORY", str(full))
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    allocate = os.posix_fallocate

    def only_elsewhere(handle: int, begin: int, size: int) -> None:
        if str(full) in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(28, "No space left on device")
        allocate(handle, begin, size)

    monkeypatch.setattr(os, "posix_fallocate", only_elsewhere)
    with shared_files.shared_files(1 << 16, "a file", 2) as path:
        assert path.is_relative_to(other)
        assert path.stat().st_blocks * 512 >= 1 << 16
        assert [Path(f"{path}.{each}").stat().st_size for each in (1, 2)] == [0, 0]
        assert left(full) == []
    assert left(other) == []


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root may mount"
)
@COMMANDS
def test_a_machine_with_full_shared_memory(
    command: list[str], environment: dict[str, str], program: Program, words: list[str]
) -> None:
    script = (
        "mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77\n"
        "dd if=/dev/zero of=/dev/shm/full 2> /dev/null\n"
        'exec "$@"'
    )
    line = ["unshare", "-m", "sh", "-c", script, "sh", *command, *words]
    result = captured([*line, "--", program("worker"), "2", "5000"], env=environment)
    if result.returncode in (1, 77) and "permitted" in result.stderr:
        pytest.skip("mounting is not permitted")
    assert result.returncode == 0, result.stderr
    assert "acquisitions" in result.stderr
