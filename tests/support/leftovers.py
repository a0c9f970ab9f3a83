"""Search for files that runs of the command left in shared memory and among temporary files."""

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

FOLDERS = (Path("/dev/shm"), Path(tempfile.gettempdir()))


def present() -> set[Path]:
    """Return this user's files and folders named `lockwright-*`, in use or not."""
    found = set()
    for folder in FOLDERS:
        for path in folder.glob("lockwright-*"):
            with contextlib.suppress(OSError):
                if path.lstat().st_uid == os.geteuid():
                    found.add(path)
    return found


def left_since(before: set[Path], patience: float = 10) -> list[Path]:
    """Return the new files that no process uses, after at most `patience` seconds: other tests may
    run at the same time, and a program may need a moment to end.
    """
    end = time.monotonic() + patience
    while True:
        # `lockwright top` leaves its logs and prints where they are.
        left = [each for each in present() - before if not each.name.startswith("lockwright-top-")]
        left = [each for each in left if not _is_locked(each)]
        if left:
            named = "\n".join(_named())
            left = [each for each in left if each.exists() and str(each) not in named]
        if not left or time.monotonic() > end:
            return sorted(left)
        time.sleep(0.2)


def _is_locked(folder: Path) -> bool:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _named() -> Iterator[str]:
    """Yield the arguments, open files and working directories of all processes."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            yield words.decode(errors="replace")
            yield str((process / "cwd").readlink())
            for file in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    yield str(file.readlink())
