"""Result files, which are checked before the measurement and written atomically."""

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from lockwright.base.errors import LockwrightError

_TRIAL = b"\0" * 65536
"""Bytes written to check for free space: about the CSV of a large comparison."""

STANDARD_OUTPUT = Path("-")
"""The path that stands for standard output."""

_TODO = "name a file in a directory that exists, can be written and has space"

_reserved = sys.stdout


@contextlib.contextmanager
def reserved_output() -> Iterator[None]:
    """Reserve standard output for the file STANDARD_OUTPUT, and print to standard error."""
    global _reserved
    before, _reserved = _reserved, sys.stdout
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _reserved.flush()
        _reserved = before


def check_all_writable(paths: Mapping[str, Path]) -> None:
    """Raise LockwrightError if a file cannot be written or two options name the same file. paths:
    the path of each option."""
    options: dict[Path, str] = {}
    for option, path in paths.items():
        check_writable(path, option)
        # Two results may go to the same device or pipe, one after the other.
        other = options.setdefault(path.resolve(), option)
        if other != option and not _is_special(path):
            raise LockwrightError(
                f"{other} and {option} name the same file {path}", "give each a file of its own"
            )


def check_writable(path: Path, option: str) -> None:
    """Raise LockwrightError if `path` cannot be written. An existing file is not changed."""
    if path == STANDARD_OUTPUT:
        return
    try:
        if _is_special(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "Permission denied")
            return
        if path.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        handle, name = tempfile.mkstemp(prefix=".lockwright-", dir=path.resolve().parent)
        try:
            _write(handle, _TRIAL)
        finally:
            os.close(handle)
            Path(name).unlink()
    except OSError as error:
        raise _write_error(path, option, error, _TODO) from error


def write(path: Path, content: str | bytes, option: str, todo: str = _TODO) -> None:
    """Write `content` to `path` atomically, or directly if it is a device or a pipe. Raises
    LockwrightError with the advice `todo` if it fails."""
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
        raise _write_error(path, option, error, todo) from error


def _write_error(path: Path, option: str, error: OSError, todo: str) -> LockwrightError:
    return LockwrightError(f"cannot write {option} {path}: {error.strerror}", todo)


def _is_special(path: Path) -> bool:
    """Return whether `path` is a device or a pipe, which a rename would replace."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode(target: Path) -> int:
    """Return the permissions of the existing file, or else those of a new file."""
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
