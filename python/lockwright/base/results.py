"""Result files in SQLite: opening, errors, and the identity of the process that writes them."""

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.base.process_numbers import PROC, stat_words


def now() -> str:
    """Return the time in ISO 8601, UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def explain_errors(path: Path, resume: str) -> Iterator[None]:
    """Raise errors of SQLite and files as LockwrightError. resume: how to resume the command."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        code = getattr(error, "sqlite_errorcode", None)
        todo = (
            f"free some space and repeat {resume}: the results so far are saved"
            if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) == errno.ENOSPC
            else "name another file with --db"
        )
        raise LockwrightError(f"cannot write results to {path}: {reason}", todo) from error


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Raise the errors of damaged values as LockwrightError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise LockwrightError(
            f"the results in {path} are damaged ({error})", "name another file with --db"
        ) from error


def connect(path: Path, schema: str, number: int) -> sqlite3.Connection:
    """Open a file, creating it, its directories and its tables (IF NOT EXISTS) as needed.

    number: version of the format, stored in user_version.
    Raises LockwrightError for a file of another format or another program.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # One statement, so that the values are consistent.
    version, application, tables = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version),"
        " (SELECT application_id FROM pragma_application_id),"
        " (SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if tables and (version == 0 or application != 0):
        raise LockwrightError(
            f"{path} is a database of another program or command", "name another file with --db"
        )
    if version not in (0, number):
        raise LockwrightError(
            f"{path} is of format {version}, this Lockwright knows format {number}",
            "name another file with --db",
        )
    # Another process may have created the tables meanwhile.
    connection.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {number}; COMMIT;")
    return connection


def _start_time(pid: int) -> str:
    """Return the start of a process in ticks after boot, which is unique with its id and the boot's
    id; "" if there is no such process."""
    try:
        return stat_words(PROC / str(pid))[19]
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def this_process() -> str:
    """Return the identity of this process, which is unique across reboots."""
    return f"{os.getpid()} {_start_time(os.getpid())} {_boot()}"


def is_alive(process: str) -> bool:
    """Return whether the process with that identity still runs on this machine; False for a text
    that is not an identity."""
    pid, start, boot = [*process.split(" "), "", ""][:3]
    is_identity = re.fullmatch("[0-9]{1,9}", pid) is not None and bool(start)
    return is_identity and boot == _boot() and _start_time(int(pid)) == start
