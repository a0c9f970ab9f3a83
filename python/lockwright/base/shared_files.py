"""Files in memory that a program under test writes and the command reads.

They lie in a directory for each run. The command removes it at the end of the run; if the command
is killed, a guard process does; if that is killed too, the next run of the same user does.

A program of root may change its user before it opens a file. The files of root are therefore
accessible to all, but have random names in a directory that cannot be listed.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lockwright.base.errors import LockwrightError

_PREFIX = "lockwright-run-"
_MEMORY = "/dev/shm"
_TRIES = 100


@contextmanager
def shared_files(size: int, what: str, more: int = 0) -> Iterator[Path]:
    """Create a file of `size` zero bytes, and `more` empty files with `.1`, `.2` ... appended to
    its name; yield its path, and remove them at the end of the block.

    All bytes are allocated: a program that writes to a page without memory would be killed. The
    files lie in memory if there is room, else in the directory of temporary files. Raises
    LockwrightError, which names `what`, if there is no room at all.
    """
    reason: OSError | None = None
    for place in dict.fromkeys((_MEMORY, tempfile.gettempdir())):
        _remove_abandoned(Path(place))
        with contextlib.ExitStack() as at_the_end:
            try:
                folder = at_the_end.enter_context(_folder(Path(place)))
                path = folder / f"lockwright-{secrets.token_hex(16)}"
                _make(path, size)
                for number in range(1, more + 1):
                    _make(Path(f"{path}.{number}"), 0)
            except OSError as error:
                reason = error
                continue
            yield path
            return
    assert reason is not None
    raise LockwrightError(
        f"cannot make {what}: {reason.strerror}", f"make room in {_MEMORY} or TMPDIR"
    ) from reason


def _make(path: Path, size: int) -> None:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        if size:
            os.posix_fallocate(handle, 0, size)
        if os.geteuid() == 0:
            os.fchmod(handle, 0o666)
    finally:
        os.close(handle)


@contextmanager
def _folder(place: Path) -> Iterator[Path]:
    """Create a directory, locked until it is removed."""
    for _ in range(_TRIES):
        folder = place / f"{_PREFIX}{secrets.token_hex(8)}"
        with contextlib.ExitStack() as at_the_end:
            # The guard starts first, so that the directory is removed in any case.
            at_the_end.enter_context(_guarded(folder))
            at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir(0o700)
            lock = _locked(folder)
            if lock is None:
                continue
            at_the_end.callback(os.close, lock)
            if os.geteuid() == 0:
                folder.chmod(0o711)
            yield folder
            return
    raise FileNotFoundError(2, f"other runs remove the new directories in {place}")


def _locked(folder: Path) -> int | None:
    """Lock the directory, and return the descriptor; None if another run removed it before."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink == 0:
        os.close(lock)
        return None
    return lock


@contextmanager
def _guarded(folder: Path) -> Iterator[None]:
    """Start a process that removes the directory after any end of this one. It has a session of its
    own, so that signals to this group or from the terminal do not reach it."""
    reading_end, writing_end = os.pipe2(os.O_CLOEXEC)
    script = 'read -r _; rm -rf -- "$1"'
    try:
        guard = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", script, "lockwright-guard", str(folder)],
            {"PATH": os.defpath},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading_end, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
        )
    except OSError:
        # Without the guard, the next run removes the directory of a killed one.
        guard = 0
    finally:
        os.close(reading_end)
    try:
        yield
    finally:
        os.close(writing_end)
        if guard:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(guard, 0)


def _remove_abandoned(place: Path) -> None:
    """Remove the directories of this user's runs whose command and guard were killed."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.geteuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
