"""Which processors the threads of a workload may use."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.machine import processors
from lockwright.machine.procfs import Tree

MODES = {
    "none": "the scheduler decides",
    "core": "a processor each: the cores of one node after another, then their second threads",
    "node": "a node each by turns, and any processor of it",
    "compact": "a processor each, neighbours first: all threads of a core, all cores of a node",
    "scatter": "a processor each, nodes by turns, first threads of cores before second ones",
}


@dataclass(frozen=True)
class Processor:
    """One hardware thread: its number, and where it is. thread: its place among those of its core.

    core is unique on the machine: the least number of a processor that belongs to it.
    """

    number: int
    node: int
    core: int
    thread: int


def machine(tree: Tree | None = None) -> list[Processor]:
    """The processors that this process may use, as the kernel describes them."""
    tree = tree or Tree()
    nodes = {number: node for node, mine in processors.nodes(tree).items() for number in mine}
    found = []
    for number in sorted(processors.allowed(tree)):
        core = sorted(processors.siblings(tree, number))
        found.append(Processor(number, nodes.get(number, 0), core[0], core.index(number)))
    return found


def places(mode: str, available: Sequence[Processor]) -> str:
    """What `lockwright-bench --pin` takes: the processors of each thread in turn; "" for `none`.

    With more threads than places, they begin again with the first.
    """
    by_node: dict[int, list[Processor]] = defaultdict(list)
    for one in available:
        by_node[one.node].append(one)
    match mode:
        case "core":
            order = sorted(available, key=lambda p: (p.thread, p.node, p.core))
        case "compact":
            order = sorted(available, key=lambda p: (p.node, p.core, p.thread))
        case "scatter":
            # The n-th of its node comes after all that are the n-1st of theirs.
            rank = {
                one: n
                for members in by_node.values()
                for n, one in enumerate(sorted(members, key=lambda p: (p.thread, p.core)))
            }
            order = sorted(available, key=lambda p: (rank[p], p.node))
        case "node":
            return ";".join(
                ",".join(str(p.number) for p in by_node[node]) for node in sorted(by_node)
            )
        case _:
            return ""
    return ";".join(str(p.number) for p in order)
