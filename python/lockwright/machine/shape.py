"""The shape of this machine: packages, NUMA nodes, last-level caches, cores, hardware threads."""

from collections.abc import Iterable
from dataclasses import dataclass

from lockwright.base.errors import LockwrightError
from lockwright.machine.processors import allowed, nodes, siblings
from lockwright.machine.procfs import Tree, numbers_of

_CPU = "/sys/devices/system/cpu"

LEVELS = ("core", "cache", "node", "package", "far")
"""Distances of two processors: in the same core, last-level cache, node or package, or in none."""

_Place = tuple[int, int, int, int]


@dataclass(frozen=True)
class Shape:
    """The number of parts of each kind in the next larger part, for the allowed processors.

    places: the package, node, cache and core of each processor. cache_mib: the size of a
    last-level cache in MiB, None if the system does not report it.
    """

    packages: int
    nodes_per_package: int
    caches_per_node: int
    cores_per_cache: int
    threads_per_core: int
    places: dict[int, _Place]
    cache_mib: float | None

    def level(self, first: int, second: int) -> str:
        """Return the distance of two processors, one of LEVELS."""
        parts = zip(reversed(LEVELS), self.places[first], self.places[second], strict=False)
        return next((level for level, part, other in parts if part != other), LEVELS[0])


def read(tree: Tree) -> Shape:
    """Return the shape of a machine by its /sys. Raises LockwrightError if no processor is
    reported, or if the parts are not alike."""
    usable = sorted(allowed(tree))
    if not usable:
        raise LockwrightError("the system does not name its processors", "mount /proc and /sys")
    node_of = {cpu: node for node, cpus in nodes(tree).items() for cpu in cpus}
    places: dict[int, _Place] = {}
    sizes = set()
    for cpu in usable:
        package = tree.number(f"{_CPU}/cpu{cpu}/topology/physical_package_id") or 0
        shared, size = _last_cache(tree, cpu)
        sizes.add(size)
        cache = min(shared or set(usable))
        places[cpu] = (max(package, 0), node_of.get(cpu, 0), cache, min(siblings(tree, cpu)))
    packages, per_package, per_node, cores = (
        _alike(name, places.values(), depth)
        for depth, name in enumerate(("packages", "nodes", "caches", "cores"))
    )
    threads, remainder = divmod(len(usable), len(set(places.values())))
    if remainder:
        raise _irregular("hardware threads")
    size = sizes.pop() if len(sizes) == 1 else None
    return Shape(packages, per_package, per_node, cores, threads, places, size)


def _alike(name: str, places: Iterable[_Place], depth: int) -> int:
    """Return the number of parts at a depth in each of the larger parts."""
    parts: dict[tuple[int, ...], set[int]] = {}
    for place in places:
        parts.setdefault(place[:depth], set()).add(place[depth])
    counts = {len(members) for members in parts.values()}
    if len(counts) != 1:
        raise _irregular(name)
    return counts.pop()


def _irregular(name: str) -> LockwrightError:
    return LockwrightError(
        f"this machine's parts do not all have as many {name}, which no machine file can state",
        "narrow the processors with taskset, or write a machine file yourself",
    )


def _last_cache(tree: Tree, cpu: int) -> tuple[set[int], float | None]:
    """Return the processors on a processor's cache of the highest level, and its size in MiB."""
    indexes = tree.match(f"{_CPU}/cpu{cpu}/cache/index[0-9]*")
    if not indexes:
        return set(), None
    last = max(indexes, key=lambda index: tree.number(f"{index}/level") or 0)
    size = (tree.text(f"{last}/size") or "").removesuffix("K")
    mib = int(size) / 1024 if size.isdecimal() else None
    return numbers_of(tree.text(f"{last}/shared_cpu_list")), mib
