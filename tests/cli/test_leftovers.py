"""Nothing of a run is left in memory or among temporary files, whatever ends it."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lockwright.base import shared_files
from support.processes import captured

from .conftest import Program

COMMANDS = pytest.mark.parametrize(
    "words", [["run", "--lock", "futex", "--stats"], ["profile"]], ids=["stats", "profile"]
)


def left(place: Path) -> list[Path]:
    return [*place.glob("lockwright-*")]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextlib.contextmanager
def started(
    words: list[str], environment: dict[str, str], place: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A command whose program waits, in a session of its own that is killed at the end; its files
    are in `place`."""
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
            assert len(left(place)) == 1
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory for files of commands that find no other place."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def here(environment: dict[str, str], place: Path, tmp_path: Path) -> dict[str, str]:
    """Return an environment in which commands find no place for files but that one."""
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "from lockwright.base import shared_files\nshared_files._MEMORY = '/nowhere'\n"
    )
    return environment | {"TMPDIR": str(place), "PYTHONPATH": str(hook)}


@COMMANDS
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name
)
@pytest.mark.parametrize("to_all", [False, True], ids=["command", "group"])
def test_of_a_run_that_is_ended(
    command: list[str],
    here: dict[str, str],
    place: Path,
    program: Program,
    words: list[str],
    number: signal.Signals,
    to_all: bool,
) -> None:
    """The program goes on after SIGKILL of the command alone."""
    with started([*command, *words, "--", str(program("waits"))], here, place) as process:
        (os.killpg if to_all else os.kill)(process.pid, number)
        process.wait(60)
        until(lambda: not left(place))


@COMMANDS
def test_of_a_run_that_is_killed_with_its_guard(
    command: list[str],
    here: dict[str, str],
    place: Path,
    program: Program,
    words: list[str],
) -> None:
    """The next run removes it, and not what is in use."""
    line = [*command, *words, "--", str(program("waits"))]
    with started(line, here, place) as process:
        (used,) = left(place)
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (guard,) = (
            int(each)
            for each in listed
            if b"lockwright-guard" in Path(f"/proc/{each}/cmdline").read_bytes()
        )
        os.kill(guard, signal.SIGKILL)
        again = [*command, *words, "--", "true"]
        subprocess.run(again, env=here, capture_output=True, check=True, timeout=60)
        assert left(place) == [used]
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)
        assert left(place) == [used]
        subprocess.run(again, env=here, capture_output=True, check=True, timeout=60)
        assert left(place) == []


def test_memory_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the file is elsewhere, all of it; what was begun is gone."""
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
def test_in_a_machine_whose_memory_is_full(
    command: list[str], environment: dict[str, str], program: Program, words: list[str]
) -> None:
    script = (
        "mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77\n"
        "dd if=/dev/zero of=/dev/shm/full 2> /dev/null\n"
        'exec "$@"'
    )
    line = ["unshare", "-m", "sh", "-c", script, "sh", *command, *words]
    done = captured([*line, "--", program("worker"), "2", "5000"], env=environment)
    if done.returncode in (1, 77) and "permitted" in done.stderr:
        pytest.skip("nothing may be mounted here")
    assert done.returncode == 0, done.stderr
    assert "acquisitions" in done.stderr
