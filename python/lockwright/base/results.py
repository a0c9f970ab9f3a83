"""Result files in SQLite: how they are opened, their errors, and which process owns them."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from lockwright.base.errors import LockwrightError


def now() -> str:
    """The time as ISO 8601, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def guard(path: Path, go_on: str) -> Iterator[None]:
    """Turns errors of SQLite into LockwrightError. go_on: how to continue once there is room
    again."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        code = getattr(error, "sqlite_errorcode", None)
        todo = (
            f"make room and repeat {go_on}: what was measured is kept"
            if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) == errno.ENOSPC
            else "name another file with --db"
        )
        raise LockwrightError(f"cannot write results to {path}: {reason}", todo) from error


def connect(path: Path, schema: str, number: int, application: int = 0) -> sqlite3.Connection:
    """Opens a file, creating it, its directories and its tables (IF NOT EXISTS) as needed.

    number: of the format, kept in the file's user_version; application: in its application_id. A
    file of another format, or another program's, is refused, not misread.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # One statement, so that all are of the same moment.
    version, owner, tables = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version),"
        " (SELECT application_id FROM pragma_application_id),"
        " (SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if tables and (version == 0 or owner != application):
        raise LockwrightError(
            f"{path} is a database of another program or command", "name another file with --db"
        )
    if version not in (0, number):
        raise LockwrightError(
            f"{path} is of format {version}, this Lockwright knows format {number}",
            "name another file with --db",
        )
    # Whether tables are there may have changed: another process may open the file just now.
    connection.executescript(
        f"BEGIN IMMEDIATE; {schema} PRAGMA application_id = {application};"
        f" PRAGMA user_version = {number}; COMMIT;"
    )
    return connection


def _start_time(pid: int) -> str:
    """Start of a process in ticks after boot: with its id and the boot, it names the process."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def this_process() -> str:
    """Identifies this process uniquely, across reboots too."""
    return f"{os.getpid()} {_start_time(os.getpid())} {_boot()}"


def is_alive(owner: str) -> bool:
    """Whether the process of that identity still runs on this machine."""
    pid, start, boot = owner.split(" ")
    return bool(start) and boot == _boot() and _start_time(int(pid)) == start
