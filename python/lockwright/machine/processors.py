"""The allowed processors, and their cores and NUMA nodes."""

from collections import Counter

from lockwright.base.wording import counted
from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree, numbers_of

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"

_COUNT = Subject(
    "processors",
    "it decides what a number of threads means: with more threads than processors, a lock whose "
    "waiters poll waits for time slices",
)
_SMT = Subject(
    "SMT",
    "two threads on one core slow each other, and a polling waiter slows the holder; which threads "
    "share a core is random",
    "pin threads to one processor of each core (taskset), or, as root, echo off > "
    f"{_CPU}/smt/control",
)
_NUMA = Subject(
    "NUMA",
    "a handover to another node takes several times as long; where threads and memory lie matters, "
    "so pin them or interleave the memory (numactl --interleave=all)",
)


def online(tree: Tree) -> set[int]:
    """Return the online processors; empty if the system does not report them."""
    return numbers_of(tree.text(f"{_CPU}/online"))


def allowed(tree: Tree) -> set[int]:
    """Return the processors that this process may use, by its affinity and its cpuset."""
    for line in (tree.text("/proc/self/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "Cpus_allowed_list":
            return numbers_of(value) & (online(tree) or numbers_of(value))
    return online(tree)


def siblings(tree: Tree, processor: int) -> set[int]:
    """Return the processors on the core of `processor`, itself included."""
    topology = f"{_CPU}/cpu{processor}/topology"
    # Kernels before 5.3 have only the second name.
    listed = tree.text(f"{topology}/core_cpus_list") or tree.text(
        f"{topology}/thread_siblings_list"
    )
    return numbers_of(listed) or {processor}


def nodes(tree: Tree) -> dict[int, set[int]]:
    """Return the processors of each NUMA node; empty if the system does not report them."""
    names = tree.match(f"{_NODE}/node[0-9]*")
    files = {int(name.rpartition("node")[2]): f"{name}/cpulist" for name in names}
    return {number: numbers_of(tree.text(files[number])) for number in sorted(files)}


def count_finding(tree: Tree) -> Finding:
    """Return the finding about the numbers of processors, cores and packages."""
    usable, present = allowed(tree), online(tree)
    if not usable:
        return _COUNT.absent(advice="mount /sys")
    cores = {frozenset(siblings(tree, each)) for each in usable}
    packages = {tree.text(f"{_CPU}/cpu{each}/topology/physical_package_id") for each in usable}
    text = f"{counted(len(usable), 'processor')} on {counted(len(cores), 'core')}"
    packages.discard(None)
    if packages:
        text += f" of {counted(len(packages), 'package')}"
    if len(usable) == 1:
        effect = "two threads never run at once, so locks are hardly ever contended"
        return _COUNT.warn(text, effect, "measure on a machine with several processors")
    if usable < present:
        return _COUNT.warn(
            f"{text}; the machine has {len(present)}",
            "the others may be busy with programs that share caches and memory with yours; threads "
            "for each processor are computed from the allowed ones",
            "if that is not intended, widen the affinity (taskset) or the cpuset of this process",
        )
    return _COUNT.ok(text)


def smt_finding(tree: Tree) -> Finding:
    """Return the finding about processors that share a core."""
    cores = Counter(frozenset(siblings(tree, each)) for each in allowed(tree))
    shared = sum(threads > 1 for threads in cores.values())
    if shared:
        of_all = counted(len(cores), "core")
        return _SMT.warn(f"{shared} of {of_all} run two or more threads at once")
    control = tree.text(f"{_CPU}/smt/control")
    if not any(tree.exists(f"{_CPU}/cpu{each}/topology") for each in allowed(tree)):
        return _SMT.absent(advice="mount /sys")
    state = f" ({control})" if control and control != "on" else ""
    return _SMT.ok(f"each core runs one thread{state}", "no two threads share a core")


def numa_finding(tree: Tree) -> Finding:
    """Return the finding about the number of NUMA nodes."""
    known = nodes(tree)
    if not known:
        advice = "declare the nodes in LOCKWRIGHT_TOPOLOGY if there are several"
        effect = "NUMA-aware locks treat all processors as one node"
        return _NUMA.absent(advice=advice, effect=effect)
    usable_nodes = {n: cpus & allowed(tree) for n, cpus in known.items() if cpus & allowed(tree)}
    if len(usable_nodes) <= 1:
        more = "" if len(known) == 1 else f" of {len(known)}; the others are not allowed"
        effect = "NUMA-aware locks gain nothing here; only their overhead can be measured"
        return _NUMA.ok(f"1 node{more}", effect)
    sizes = ", ".join(f"{len(cpus)}" for cpus in usable_nodes.values())
    return _NUMA.ok(f"{len(usable_nodes)} nodes with {sizes} processors")
