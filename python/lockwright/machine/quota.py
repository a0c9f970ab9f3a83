"""Control groups that limit the processor time of a process."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockwright.base.errors import LockwrightError

_PERIOD_US = 100_000
"""The period of the quota, in microseconds; the kernel's default."""


def _unified() -> Path | None:
    """Return the directory of cgroup v2 whose children have the controller `cpu`, or None: that of
    this process's group or, as a group with processes cannot have such children, its parent."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            group = Path("/sys/fs/cgroup") / path.lstrip("/")
            for folder in (group, group.parent):
                with contextlib.suppress(OSError):
                    if "cpu" in (folder / "cgroup.subtree_control").read_text().split():
                        return folder
    return None


def _separate() -> Path | None:
    """Return the directory of this process's group in cgroup v1; None if that is not mounted."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            for name in ("cpu", "cpu,cpuacct"):
                group = Path("/sys/fs/cgroup") / name / path.lstrip("/")
                if (group / "cpu.cfs_quota_us").is_file():
                    return group
    return None


@contextlib.contextmanager
def limited_group(processors: float) -> Iterator[Path]:
    """Create a group with the time of `processors` processors, and yield its directory. Raises
    LockwrightError if this user may not create a group."""
    name = f"lockwright-{os.getpid()}"
    quota = round(processors * _PERIOD_US)
    try:
        if (unified := _unified()) is not None:
            group, limits = unified / name, {"cpu.max": f"{quota} {_PERIOD_US}"}
        elif (separate := _separate()) is not None:
            group = separate / name
            limits = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
        else:
            raise LockwrightError(
                "the kernel's control groups have no controller 'cpu' here", "leave the quota out"
            )
        group.mkdir()
        try:
            for file, value in limits.items():
                (group / file).write_text(value)
            yield group
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
    except OSError as error:
        raise LockwrightError(
            f"no control group can be made here: {error.strerror}", "leave the quota out"
        ) from error


def start_words(group: Path) -> Sequence[str]:
    """Return the words before a command that start it in the group."""
    return ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"))


def obstacle() -> str:
    """Return the reason why no group can be created; "" if one can."""
    try:
        with limited_group(1.0):
            return ""
    except LockwrightError as error:
        return error.what
