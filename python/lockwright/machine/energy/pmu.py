"""RAPL by the performance events `power/energy-*/`, if powercap is missing or not readable."""

import os
import re
from collections.abc import Callable

from lockwright.machine.energy.domain import Domain
from lockwright.machine.perf.event import open_event, read_event, why_not
from lockwright.machine.procfs import Tree, numbers_of

FOLDER = "/sys/bus/event_source/devices/power"

EVENTS = {
    "energy-pkg": "package",
    "energy-cores": "core",
    "energy-gpu": "uncore",
    "energy-ram": "dram",
    "energy-psys": "psys",
}
"""Events and their kinds of energy, see arch/x86/events/rapl.c."""

Opener = Callable[[int, int, int], int]
"""Takes type, config and processor, and returns a descriptor; raises OSError."""


def _open(kind: int, config: int, cpu: int) -> int:
    return open_event(kind, config, pid=-1, cpu=cpu)


def find(
    tree: Tree, opener: Opener = _open, read: Callable[[int], int] | None = None
) -> tuple[list[Domain], dict[str, str]]:
    """Return the readable domains, one for each socket, and the reasons for the others, by name.
    The kernel extends the hardware's counters to 64 bits."""
    domains: list[Domain] = []
    refused: dict[str, str] = {}
    kind = tree.number(f"{FOLDER}/type")
    if kind is None:
        return domains, refused
    # One processor of each socket reads the socket's counters.
    socket_processors = sorted(numbers_of(tree.text(f"{FOLDER}/cpumask"))) or [0]
    for event, kind_of_energy in EVENTS.items():
        config = _config(tree.text(f"{FOLDER}/events/{event}"))
        if config is None:
            continue
        joules = _joules(tree, event)
        for socket, cpu in enumerate(socket_processors):
            name = f"{kind_of_energy}-{socket}"
            if joules is None:
                refused[name] = f"it does not count in joules ({event}.scale, {event}.unit)"
                continue
            try:
                handle = opener(kind, config, cpu)
            except OSError as error:
                refused[name] = why_not(error)
                continue
            domains.append(_domain(kind_of_energy, name, joules, handle, read or _value))
    return domains, refused


def _value(handle: int) -> int:
    return read_event(handle).value


def _domain(kind: str, name: str, joules: float, handle: int, read: Callable[[int], int]) -> Domain:
    return Domain(kind, name, "perf", joules, None, lambda: read(handle), lambda: os.close(handle))


def _config(text: str | None) -> int | None:
    """Return the number of an event that is described as `event=0x02`."""
    match = re.fullmatch(r"event=(0x[0-9a-fA-F]+|\d+)", text or "")
    return int(match[1], 0) if match else None


def _joules(tree: Tree, event: str) -> float | None:
    if tree.text(f"{FOLDER}/events/{event}.unit") != "Joules":
        return None
    try:
        return float(tree.text(f"{FOLDER}/events/{event}.scale") or "")
    except ValueError:
        return None
