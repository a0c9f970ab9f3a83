"""Findings about this user's access to energy and performance counters."""

from lockwright.machine.energy.domains import Sources
from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

NAMES = ("RAPL", "perf")
"""Findings that prevent a measurement, and change no figure."""

_RAPL = Subject(
    "RAPL",
    "--energy reports that nothing can be read; times are not affected",
    "run as root, or, as root, chmod -R a+r /sys/class/powercap/intel-rapl* (which lets any "
    "program observe what others compute)",
)
_PERF = Subject(
    "perf",
    "--counters reports that cycles, instructions and cache misses are missing",
    "as root, sysctl kernel.perf_event_paranoid=1, or run as root, or give Python the capability "
    "CAP_PERFMON (setcap)",
)


def rapl(sources: Sources) -> Finding:
    """Return the finding about reading the energy of the processors."""
    if sources.domains:
        kinds = ", ".join(dict.fromkeys(domain.kind for domain in sources.domains))
        missing = "".join(f"; {why}" for why in sources.absent.values())
        return _RAPL.ok(f"{kinds}{missing}", "--energy can report watts and operations per joule")
    if sources.refused:
        return _RAPL.warn(sources.why())
    advice = "measure on bare metal: most hypervisors do not pass it on"
    return _RAPL.absent(sources.why(), advice)


def perf(tree: Tree, hardware: str | None) -> Finding:
    """Return the finding about hardware counters. hardware: why the processor's cycles cannot be
    counted; "" if they can, None if it was not tried."""
    level = tree.number("/proc/sys/kernel/perf_event_paranoid")
    if level is None:
        missing = "this kernel has no performance events"
        return _PERF.absent(missing, "use a kernel with CONFIG_PERF_EVENTS")
    state = f"perf_event_paranoid {level}"
    has_unit = any(
        tree.exists(f"/sys/bus/event_source/devices/{name}")
        for name in ("cpu", "cpu_core", "armv8_pmuv3_0")
    )
    if not has_unit and not tree.match("/sys/bus/event_source/devices/armv8_*"):
        advice = "measure on bare metal, or enable them in the hypervisor (vPMU)"
        return _PERF.absent(f"{state}; the processor has no counters", advice)
    if hardware:
        return _PERF.warn(f"{state}; {hardware}")
    if level > 1 and hardware is None:
        return _PERF.warn(state, f"for a user who is not root, {_PERF.effect}")
    return _PERF.ok(state, "--counters can report cycles, instructions and cache misses")
