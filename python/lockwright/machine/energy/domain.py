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
    """A counter that only increases, and wraps to 0 after `range_`.

    kind: one of KINDS; name: the system's, such as `package-0`; interface: `powercap` or `perf`;
    joules: those of one count; range_: the largest count, None if it never wraps; read: returns the
    count or raises OSError; close: closes the counter.
    """

    kind: str
    name: str
    interface: str
    joules: float
    range_: int | None
    read: Callable[[], int]
    close: Callable[[], None] = lambda: None


def joules_between(domain: Domain, counts: Sequence[int]) -> list[float]:
    """Return the joules between each reading and the next. A count below the previous one has
    wrapped once. Raises ValueError if the counter never wraps."""
    steps = []
    for before, after in pairwise(counts):
        step = after - before
        if step < 0:
            if domain.range_ is None:
                raise ValueError(f"{domain.name} fell from {before} to {after}")
            step += domain.range_ + 1
        steps.append(step * domain.joules)
    return steps
