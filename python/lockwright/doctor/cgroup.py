"""The finding about a control group's limit on the processors' time."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from lockwright.machine.finding import Finding, Subject
from lockwright.machine.processors import allowed
from lockwright.machine.procfs import Tree

_QUOTA = Subject(
    "cgroup quota",
    "when it is used up, every thread stops until the next period, the holder of a lock too: locks "
    "whose waiters poll use it up sooner, and appear worse than on an unlimited machine",
)


@dataclass(frozen=True)
class Quota:
    """A limit, in processors. throttled: the number of times that it was used up, if known."""

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
        _, mount_point, kind, options = words[:4]
        if kind == "cgroup2":
            unified = unified or mount_point
        elif kind == "cgroup":
            for option in options.split(","):
                controllers.setdefault(option, mount_point)
    return unified, controllers


def _upwards(mount: str, group: str) -> list[str]:
    """Return the directories of a group and of its parents; for a group outside the mount, as in a
    container, the mount alone."""
    inner = PurePosixPath(group.lstrip("/"))
    groups = [inner, *inner.parents] if group.strip("/") and ".." not in inner.parts else []
    folders = [f"{mount}/{group_path}" for group_path in groups if str(group_path) != "."]
    return [*folders, mount]


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
    in_force = []

    def add(folder: str, file: str, quota_us: int, period_us: int) -> None:
        throttled = _throttled(tree, folder)
        limit = Quota(quota_us / period_us, period_us / 1000, throttled, f"{folder}/{file}")
        in_force.append(limit)

    if mount is not None and group is not None:
        for folder in _upwards(mount, group):
            words = (tree.text(f"{folder}/cpu.max") or "").split()
            if len(words) == 2 and words[0].isdecimal() and words[1].isdecimal() and int(words[1]):
                add(folder, "cpu.max", int(words[0]), int(words[1]))
    elif "cpu" not in mounts:
        return None
    if "cpu" in mounts:
        for folder in _upwards(mounts["cpu"], groups.get("cpu", "/")):
            quota_us = tree.number(f"{folder}/cpu.cfs_quota_us")
            period_us = tree.number(f"{folder}/cpu.cfs_period_us")
            if quota_us is not None and quota_us > 0 and period_us:
                add(folder, "cpu.cfs_quota_us", quota_us, period_us)
    return sorted(in_force, key=lambda quota: quota.processors)


def cgroup(tree: Tree) -> Finding:
    """Return the finding about a limit on the processors' time by a control group."""
    in_force = quotas(tree)
    if in_force is None:
        effect = "nothing here limits the processors' time; a host may"
        return _QUOTA.absent("no control group with a quota is mounted", effect=effect)
    if not in_force:
        return _QUOTA.ok("none", "no control group stops running threads")
    tightest = in_force[0]
    text = f"{tightest.processors:g} processors' time in each {tightest.period_ms:g} ms"
    if tightest.throttled:
        text += f", used up {tightest.throttled:,} times"
    usable = len(allowed(tree))
    if usable and tightest.processors >= usable and not tightest.throttled:
        return _QUOTA.ok(text, f"more than the {usable} processors can use, so it has no effect")
    advice = (
        f"raise it ({tightest.file}; --cpus of docker, limits.cpu of Kubernetes), or use no more "
        f"than {max(1, int(tightest.processors))} threads"
    )
    return _QUOTA.warn(text, advice=advice)
