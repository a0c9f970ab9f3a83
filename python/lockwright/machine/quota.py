"""Control groups that limit the processor time of a process, where this user may create one."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockwright.base.errors import LockwrightError

_PERIOD_US = 100_000
"""The period of the quota, in microseconds; the kernel's default."""


def _unified() -> Path | None:
    """Return the directory of cgroup v2 whose children have the controller `cpu`: that of this
    process's group or its parent, since a group with processes cannot have children with
    controllers; None if there is none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            place = Path("/sys/fs/cgroup") / path.lstrip("/")
            for above in (place, place.parent):
                with contextlib.suppress(OSError):
                    if "cpu" in (above / "cgroup.subtree_control").read_text().split():
                        return above
    return None


def _separate() -> Path | None:
    """Return the same for cgroup v1; None if that is not mounted."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            for name in ("cpu", "cpu,cpuacct"):
                place = Path("/sys/fs/cgroup") / name / path.lstrip("/")
                if (place / "cpu.cfs_quota_us").is_file():
                    return place
    return None


@contextlib.contextmanager
def limited_group(processors: float) -> Iterator[Path]:
    """Create a group that may use the time of `processors` processors, and yield its directory; it
    is removed at the end.

    Raises LockwrightError if this user may not create one.
    """
    name = f"lockwright-{os.getpid()}"
    quota = round(processors * _PERIOD_US)
    try:
        if (unified := _unified()) is not None:
            place, limits = unified / name, {"cpu.max": f"{quota} {_PERIOD_US}"}
        elif (separate := _separate()) is not None:
            place = separate / name
            limits = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
        else:
            raise LockwrightError(
                "the kernel's control groups have no controller 'cpu' here", "leave the quota out"
            )
        place.mkdir()
        try:
            for file, value in limits.items():
                (place / file).write_text(value)
            yield place
        finally:
            with contextlib.suppress(OSError):
                place.rmdir()
    except OSError as error:
        raise LockwrightError(
            f"no control group can be made here: {error.strerror}", "leave the quota out"
        ) from error


def start_words(place: Path) -> Sequence[str]:
    """Return the words before a command that start it in the group."""
    return ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(place / "cgroup.procs"))


def obstacle() -> str:
    """Return why no group can be created here; "" if one can."""
    try:
        with limited_group(1.0):
            return ""
    except LockwrightError as error:
        return error.what
