"""The energy counters that can be read on this machine: microjoules in /sys/class/powercap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from lockwright.machine.procfs import Tree

FOLDER = "/sys/class/powercap"

NOWHERE = f"there is no {FOLDER}/intel-rapl:*"

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

    kind: one of KINDS; name: the system's, such as `package-0`; read: returns the count or raises
    OSError; joules: those of one count.
    """

    kind: str
    name: str
    range_: int
    read: Callable[[], int]
    joules: float = 1e-6

    def joules_between(self, counts: Sequence[int]) -> list[float]:
        """Return the joules between each reading and the next. A count below the previous one has
        wrapped once."""
        return [
            self.joules * (after - before + (self.range_ + 1 if after < before else 0))
            for before, after in pairwise(counts)
        ]


@dataclass(frozen=True)
class Sources:
    """The readable domains. refused: the reason, by the name of a domain, if it cannot be read.
    absent: the same by kind: the figure of a kind is the sum of its sockets, so it is read only if
    all of these can be read."""

    domains: list[Domain] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def absent(self) -> dict[str, str]:
        return {name.partition("-")[0].split()[0]: why for name, why in self._reasons.items()}

    @property
    def _reasons(self) -> dict[str, str]:
        return {name: f"{name}: {why}" for name, why in self.refused.items()}

    def why(self) -> str:
        """Return the reason why no energy can be read; "" if some can."""
        return "" if self.domains else "; ".join(self._reasons.values()) or NOWHERE


def find(tree: Tree) -> Sources:
    """Return the domains. Zones of `intel-rapl-mmio` are left out: they count the same packages
    again."""
    domains, refused = [], {}
    for zone in tree.match(f"{FOLDER}/intel-rapl:*"):
        name = tree.text(f"{zone}/name") or ""
        kind = name.partition("-")[0]
        if kind not in KINDS:
            continue
        parent = Path(zone).name.rpartition(":")[0]
        if kind not in ("package", "psys"):
            name = f"{name} of {tree.text(f'{FOLDER}/{parent}/name') or parent}"
        file = tree.path(f"{zone}/energy_uj")
        range_ = tree.number(f"{zone}/max_energy_range_uj")
        try:
            _count(file)
        except OSError as error:
            refused[name] = error.strerror or str(error)
        else:
            if range_:
                domains.append(Domain(kind, name, range_, partial(_count, file)))
            else:
                refused[name] = "its range is unknown (max_energy_range_uj)"
    absent = Sources(domains, refused).absent
    return Sources([each for each in domains if each.kind not in absent], refused)


def _count(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"))
    except ValueError as error:
        raise OSError(5, "it contains no number") from error
