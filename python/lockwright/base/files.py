"""Result files: checked before anything is measured, written whole or not at all."""

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from lockwright.base.errors import LockwrightError

_TRIAL = b"\0" * 65536
"""Bytes written to see whether there is space; the CSV of a large comparison is about as long."""

STANDARD_OUTPUT = Path("-")
"""Stands for standard output where a file is named."""

_TODO = "name a file in a directory that exists, can be written and has space"

_reserved = sys.stdout


@contextlib.contextmanager
def reserved_output() -> Iterator[None]:
    """Keeps standard output for what is written to STANDARD_OUTPUT: everything else that is printed
    goes to standard error."""
    global _reserved
    before, _reserved = _reserved, sys.stdout
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _reserved.flush()
        _reserved = before


def try_out_all(named: Mapping[str, Path]) -> None:
    """Raises LockwrightError if one of the files, by option, cannot be written, or two are the
    same."""
    seen: dict[Path, str] = {}
    for option, path in named.items():
        try_out(path, option)
        # Two that go to one device or pipe follow each other there.
        other = seen.setdefault(path.resolve(), option)
        if other != option and not _is_special(path):
            raise LockwrightError(
                f"{other} and {option} name the same file {path}", "give each a file of its own"
            )


def try_out(path: Path, option: str) -> None:
    """Raises LockwrightError if a file cannot be put at `path`. Leaves an existing file as it
    is."""
    if path == STANDARD_OUTPUT:
        return
    try:
        if _is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            return
        if path.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        handle, name = tempfile.mkstemp(prefix=".lockwright-", dir=_home(path))
        try:
            _write(handle, _TRIAL)
        finally:
            os.close(handle)
            Path(name).unlink()
    except OSError as error:
        raise LockwrightError(
            f"cannot write {option} {path}: {error.strerror}",
            _TODO,
        ) from error


def write(path: Path, content: str | bytes, option: str, todo: str = _TODO) -> None:
    """Puts `content` at `path` in one step: a reader sees the old file or the new one.

    A device or a pipe is written to directly. Raises LockwrightError, which says `todo`, if it
    fails.
    """
    if path == STANDARD_OUTPUT:
        _reserved.write(content if isinstance(content, str) else content.decode())
        return
    data = content.encode(errors="replace") if isinstance(content, str) else content
    try:
        if _is_special(path):
            path.write_bytes(data)
            return
        target = path.resolve()
        handle, name = tempfile.mkstemp(prefix=".lockwright-", dir=target.parent)
        try:
            try:
                _write(handle, data)
                os.fchmod(handle, _mode(target))
                os.fsync(handle)
            finally:
                os.close(handle)
            Path(name).replace(target)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise LockwrightError(
            f"cannot write {option} {path}: {error.strerror}",
            todo,
        ) from error


def _home(path: Path) -> Path:
    """The directory of the file that `path` leads to."""
    return path.resolve().parent


def _is_special(path: Path) -> bool:
    """Whether there is a file that a rename would replace instead of fill."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or else those of a new file."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
