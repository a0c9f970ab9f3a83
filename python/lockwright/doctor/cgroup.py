"""The limit that a control group sets on the processors' time."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.processors import allowed
from lockwright.machine.procfs import Tree


@dataclass(frozen=True)
class Quota:
    """A limit, in processors. throttled: how often it was used up, if known."""

    processors: float
    period_ms: float
    throttled: int | None
    file: str


def _memberships(tree: Tree) -> tuple[str | None, dict[str, str]]:
    """Return the group in the unified hierarchy (v2), and the group of each v1 controller."""
    unified = None
    controllers: dict[str, str] = {}
    for line in (tree.text("/proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        names, _, group = rest.partition(":")
        if names == "":
            unified = group
        for name in names.split(","):
            controllers[name] = group
    return unified, controllers


def _mounts(tree: Tree) -> tuple[str | None, dict[str, str]]:
    """Return the mount points of the unified hierarchy and of each v1 controller."""
    unified = None
    controllers: dict[str, str] = {}
    for line in (tree.text("/proc/self/mounts") or "").splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        _, place, kind, options = words[:4]
        if kind == "cgroup2":
            unified = unified or place
        elif kind == "cgroup":
            for option in options.split(","):
                controllers.setdefault(option, place)
    return unified, controllers


def _upwards(mount: str, group: str) -> list[str]:
    """Return the directories of a group and of its parents. For a group outside the mount, as in a
    container, it is the mount alone."""
    inner = PurePosixPath(group.lstrip("/"))
    below = [inner, *inner.parents] if group.strip("/") and ".." not in inner.parts else []
    found = [f"{mount}/{each}" for each in below if str(each) != "."]
    return [*found, mount]


def _throttled(tree: Tree, folder: str) -> int | None:
    for line in (tree.text(f"{folder}/cpu.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "nr_throttled" and value.isdecimal():
            return int(value)
    return None


def quotas(tree: Tree) -> list[Quota] | None:
    """Return all quotas in force, of v2 and v1, the lowest first; None if there are no groups."""
    group, groups = _memberships(tree)
    mount, mounts = _mounts(tree)
    known = False
    found = []
    if mount is not None and group is not None:
        known = True
        for folder in _upwards(mount, group):
            words = (tree.text(f"{folder}/cpu.max") or "").split()
            if len(words) == 2 and words[0].isdecimal() and words[1].isdecimal() and int(words[1]):
                quota, period = int(words[0]), int(words[1])
                found.append(
                    Quota(
                        quota / period,
                        period / 1000,
                        _throttled(tree, folder),
                        f"{folder}/cpu.max",
                    )
                )
    if "cpu" in mounts:
        known = True
        for folder in _upwards(mounts["cpu"], groups.get("cpu", "/")):
            quota_us = tree.number(f"{folder}/cpu.cfs_quota_us")
            period_us = tree.number(f"{folder}/cpu.cfs_period_us")
            if quota_us is not None and quota_us > 0 and period_us:
                found.append(
                    Quota(
                        quota_us / period_us,
                        period_us / 1000,
                        _throttled(tree, folder),
                        f"{folder}/cpu.cfs_quota_us",
                    )
                )
    return sorted(found, key=lambda quota: quota.processors) if known else None


def cgroup(tree: Tree) -> Finding:
    """Return the finding about a limit on the processors' time by a control group."""
    found = quotas(tree)
    if found is None:
        return Finding(
            "cgroup quota",
            ABSENT,
            "no control group with a quota is mounted",
            "nothing here limits the processors' time; a host may",
        )
    if not found:
        return Finding("cgroup quota", OK, "none", "no control group stops running threads")
    tightest = found[0]
    text = f"{tightest.processors:g} processors' time in each {tightest.period_ms:g} ms"
    if tightest.throttled:
        text += f", used up {tightest.throttled:,} times"
    here = len(allowed(tree))
    if here and tightest.processors >= here and not tightest.throttled:
        return Finding(
            "cgroup quota",
            OK,
            text,
            f"more than the {here} processors can use, so it has no effect",
        )
    return Finding(
        "cgroup quota",
        WARN,
        text,
        "when it is used up, every thread stops until the next period, the holder of a lock too: "
        "locks whose waiters poll use it up sooner, and appear worse than on an unlimited machine",
        f"raise it ({tightest.file}; --cpus of docker, limits.cpu of Kubernetes), or use no more "
        f"than {max(1, int(tightest.processors))} threads",
    )
