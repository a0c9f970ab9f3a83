"""Finds the energy counters that can be read on this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lockwright.machine.energy import pmu, powercap
from lockwright.machine.energy.domain import KINDS, Domain
from lockwright.machine.procfs import Tree

NOWHERE = "there is neither /sys/class/powercap nor an event power/energy-*"


@dataclass(frozen=True)
class Sources:
    """The readable domains. absent: the reason, by kind, if not all domains of a kind are readable.
    refused: the reason, by domain and interface, if it cannot be read."""

    domains: list[Domain] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def why(self) -> str:
        """Return the reason why no energy can be read; "" if some can."""
        if self.domains:
            return ""
        if not self.refused:
            return NOWHERE
        return _by_reason(self.refused)

    def close(self) -> None:
        for each in self.domains:
            each.close()


def _by_reason(reasons: Mapping[str, str]) -> str:
    """Return a line such as `package-0, package-1: Permission denied`, with each reason once."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(group)}: {reason}" for reason, group in names.items())


def find(tree: Tree, opener: pmu.Opener | None = None) -> Sources:
    """Return all readable domains: each kind by powercap, or else by perf. A kind is read only if
    all its sockets can be read, since its figure is their sum."""
    files, closed_files = powercap.find(tree)
    events, closed_events = pmu.find(tree, opener) if opener else pmu.find(tree)
    refused_files = {f"{name} by powercap": why for name, why in closed_files.items()}
    refused_events = {f"{name} by perf": why for name, why in closed_events.items()}
    domains: list[Domain] = []
    absent: dict[str, str] = {}
    for kind in KINDS:
        interfaces = []
        for found, refused in ((files, refused_files), (events, refused_events)):
            readable = [each for each in found if each.kind == kind]
            missing = {
                n: why for n, why in refused.items() if n.partition("-")[0].split()[0] == kind
            }
            interfaces.append((readable, missing))
        chosen = next(
            (readable for readable, missing in interfaces if readable and not missing), []
        )
        domains += chosen
        if not chosen:
            reasons = {name: why for _, missing in interfaces for name, why in missing.items()}
            if reasons:
                absent[kind] = _by_reason(reasons)
    for each in events:
        if each not in domains:
            each.close()
    return Sources(domains, absent, refused_files | refused_events)
