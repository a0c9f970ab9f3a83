"""Which locks are tortured, on which declared machines, and for how long."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import Lock, Registry

if TYPE_CHECKING:
    from lockwright.torture.run import Orders

KINDS = ("crowd", "churn", "rings", "herd", "producers", "forks", "order", "reuse", "memory")
"""The kinds of phases, as lockwright-torture knows them."""

DISTURBANCES = ("stutter", "shuffle", "stops", "signals")
"""What happens to the threads from outside in some of the phases."""

TOPOLOGY = "LOCKWRIGHT_TOPOLOGY"
"""The variable that declares NUMA nodes."""


@dataclass(frozen=True)
class Run:
    """One lock for `seconds`.

    topology: the NUMA nodes that are declared; None for the machine as it is. numbers: variables
    that set numbers of the lock.
    """

    lock: Lock
    seconds: float
    topology: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The lock, and what is different from a run without any variable."""
        where = f" on {self.topology}" if self.topology is not None else ""
        return f"{self.lock.name}{where}{', least numbers' if self.numbers else ''}"

    @property
    def variables(self) -> dict[str, str]:
        """What has to be in the environment."""
        declared = {TOPOLOGY: self.topology} if self.topology is not None else {}
        return {**declared, **self.numbers}


def choose(name: str, known: Registry) -> list[Lock]:
    """The lock of that name, or all. Raises LockwrightError if there is none."""
    return list(known) if name == "all" else [known.find(name)]


def runs(chosen: Sequence[Lock], seconds: float) -> list[Run]:
    """The runs that share the time: as much for each lock.

    A lock that looks at NUMA nodes runs on this machine, on two nodes that threads move between,
    and on more nodes than most machines have. One that has numbers to set runs with the least that
    they can be as well: waiters then sleep at once, and what is rare is not. Neither, if the user
    has set anything of that kind.
    """
    each = seconds / len(chosen)
    planned = []
    for lock in chosen:
        machines: list[str | None] = [None]
        if lock.numa_aware and not os.environ.get(TOPOLOGY):
            machines += [*_two_nodes(), "threads:0;1;2;3"]
        variants = [Run(lock, 0, machine) for machine in machines]
        if least := _least_numbers(lock):
            variants.append(Run(lock, 0, machines[-1], least))
        planned += [replace(run, seconds=each / len(variants)) for run in variants]
    return planned


def _least_numbers(lock: Lock) -> dict[str, str]:
    if any(os.environ.get(name) for each in lock.tunables for name in (each.variable, each.shared)):
        return {}
    # One in nothing is never, and a thread that is kept aside would stay there.
    return {
        each.variable: str(max(each.least, 1) if each.unit == "one in" else each.least)
        for each in lock.tunables
    }


def _two_nodes() -> list[str]:
    usable = sorted(os.sched_getaffinity(0))
    half = len(usable) // 2
    if half == 0:
        return []
    return [";".join(",".join(map(str, part)) for part in (usable[:half], usable[half:]))]


def parts(text: str | None, option: str, allowed: Sequence[str]) -> list[str]:
    """A list such as `crowd,herd`. Raises LockwrightError, with the nearest, for other words."""
    words = [word.strip() for word in text.split(",")] if text is not None else []
    for word in words:
        if word not in allowed:
            from difflib import get_close_matches

            near = get_close_matches(word, allowed, n=1)
            todo = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(allowed)}"
            raise LockwrightError(f"{option} knows no '{word}'", todo)
    return words


def check(orders: "Orders", chosen: Sequence[Lock]) -> None:
    """Raises LockwrightError if a lock would have no phase at all."""
    left = [kind for kind in orders.only or KINDS if kind not in orders.without]
    for lock in chosen:
        if not any(kind != "order" or keeps_order(lock) for kind in left):
            raise LockwrightError(
                f"no phase is left for {lock.name}",
                "it promises no order; choose other phases" if left else "leave out fewer",
            )


def keeps_order(lock: Lock) -> bool:
    """Whether threads have to be let in as they came."""
    return lock.fifo and not lock.numa_aware


def turns(lock: Lock, environment: Mapping[str, str]) -> int:
    """After about how many turns the lock lets in a thread that it keeps aside."""
    most = 1000
    for each in lock.tunables:
        if each.unit == "one in" or each.name in ("batch", "promotion", "patience"):
            given = environment.get(each.variable) or environment.get(each.shared)
            most = max(most, int(given or each.default))
    return most


def remarks(chosen: Sequence[Lock]) -> list[str]:
    """What the user should know beforehand."""
    polling = [lock.name for lock in chosen if not lock.parking]
    if not polling:
        return []
    who = polling[0] if len(polling) == 1 else f"{len(polling)} locks"
    return [
        f"Waiters of {who} poll: at most 2 threads for each processor, for more would not get on."
    ]
