"""An energy counter, and the energy between its readings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

KINDS = {
    "package": "a whole socket: cores, caches, memory controller",
    "core": "the cores of a socket; part of package",
    "uncore": "a socket's graphics, where it has some; part of package",
    "dram": "the memory of a socket; not part of package",
    "psys": "the whole board; the others are part of it",
}
"""The domains; see the kernel's documentation of powercap."""


@dataclass(frozen=True)
class Domain:
    """A counter that only grows, and restarts at 0 after `range_`.

    kind: of KINDS; name: the system's, such as `package-0`; interface: `powercap` or `perf`;
    joules: of one count; range_: the largest count, None if it never restarts; read: returns the
    count, raises OSError; close: releases what reading needs.
    """

    kind: str
    name: str
    interface: str
    joules: float
    range_: int | None
    read: Callable[[], int]
    close: Callable[[], None] = lambda: None


def joules_between(domain: Domain, counts: Sequence[int]) -> list[float]:
    """Return the joules between each reading and the next.

    A count below the previous one has restarted at 0 once. Raises ValueError if a counter fell that
    never restarts.
    """
    domains = []
    for before, after in pairwise(counts):
        step = after - before
        if step < 0:
            if domain.range_ is None:
                raise ValueError(f"{domain.name} fell from {before} to {after}")
            step += domain.range_ + 1
        domains.append(step * domain.joules)
    return domains
