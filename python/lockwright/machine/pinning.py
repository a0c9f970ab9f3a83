"""The processors that the threads of a workload may use."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.machine import processors
from lockwright.machine.procfs import Tree

MODES = {
    "none": "the scheduler decides",
    "core": "a processor each: the cores of one node after another, then their second threads",
    "node": "the nodes round-robin, any processor of the node",
    "compact": "a processor each, closest first: all threads of a core, then all cores of a node",
    "scatter": "a processor each, nodes round-robin, first threads of cores before second ones",
}


@dataclass(frozen=True)
class Processor:
    """A hardware thread. thread: its index among those of its core. core: the least number of a
    processor on the same core."""

    number: int
    node: int
    core: int
    thread: int


def usable_processors(tree: Tree | None = None) -> list[Processor]:
    """Return the processors that this process may use, as the kernel describes them."""
    tree = tree or Tree()
    nodes = {number: node for node, members in processors.nodes(tree).items() for number in members}
    usable = []
    for number in sorted(processors.allowed(tree)):
        core = sorted(processors.siblings(tree, number))
        usable.append(Processor(number, nodes.get(number, 0), core[0], core.index(number)))
    return usable


def processor_lists(mode: str, available: Sequence[Processor]) -> str:
    """Return the argument of `lockwright-bench --pin`: the processors of each thread in order,
    which repeat for further threads; "" for the mode `none`."""
    if mode == "node":
        by_node = _by_node(available)
        return ";".join(",".join(str(p.number) for p in by_node[node]) for node in sorted(by_node))
    return ";".join(map(str, ordered(mode, available)))


def ordered(mode: str, available: Sequence[Processor]) -> list[int]:
    """Return the processors in the order of `core`, `compact` or `scatter`; none for other
    modes."""
    match mode:
        case "core":
            order = sorted(available, key=lambda p: (p.thread, p.node, p.core))
        case "compact":
            order = sorted(available, key=lambda p: (p.node, p.core, p.thread))
        case "scatter":
            # The n-th processor of a node comes after the (n-1)-th of every node.
            rank = {
                processor: n
                for members in _by_node(available).values()
                for n, processor in enumerate(sorted(members, key=lambda p: (p.thread, p.core)))
            }
            order = sorted(available, key=lambda p: (rank[p], p.node))
        case _:
            order = []
    return [p.number for p in order]


def _by_node(available: Sequence[Processor]) -> dict[int, list[Processor]]:
    members: dict[int, list[Processor]] = defaultdict(list)
    for processor in available:
        members[processor.node].append(processor)
    return members
