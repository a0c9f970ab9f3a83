"""Findings about this user's access to energy, performance counters and other processes."""

from lockwright.machine.energy.find import Sources
from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree

NAMES = ("RAPL", "perf", "ptrace")
"""Findings that prevent a measurement, and change no figure."""

_CAPABLE = "run as root, or give Python the capability CAP_PERFMON (setcap)"


def rapl(sources: Sources) -> Finding:
    """Return the finding about reading the energy of the processors."""
    effect = "--energy reports that nothing can be read; times are not affected"
    if sources.domains:
        kinds = ", ".join(dict.fromkeys(domain.kind for domain in sources.domains))
        interfaces = ", ".join(dict.fromkeys(domain.interface for domain in sources.domains))
        missing = "".join(f"; {name}: {why}" for name, why in sources.absent.items())
        return Finding(
            "RAPL",
            OK,
            f"{kinds} (by {interfaces}){missing}",
            "--energy can report watts and operations per joule",
        )
    if sources.refused:
        return Finding(
            "RAPL",
            WARN,
            sources.why(),
            effect,
            "run as root, or, as root, chmod -R a+r /sys/class/powercap/intel-rapl* (which lets "
            "any program observe what others compute)",
        )
    return Finding(
        "RAPL",
        ABSENT,
        sources.why(),
        effect,
        "measure on bare metal: most hypervisors do not pass it on",
    )


def perf(tree: Tree, hardware: str | None) -> Finding:
    """Return the finding about hardware counters. hardware: why the processor's cycles cannot be
    counted; "" if they can, None if it was not tried."""
    level = tree.number("/proc/sys/kernel/perf_event_paranoid")
    effect = "--counters reports that cycles, instructions and cache misses are missing"
    if level is None:
        return Finding(
            "perf",
            ABSENT,
            "this kernel has no performance events",
            effect,
            "use a kernel with CONFIG_PERF_EVENTS",
        )
    state = f"perf_event_paranoid {level}"
    has_unit = any(
        tree.exists(f"/sys/bus/event_source/devices/{name}")
        for name in ("cpu", "cpu_core", "armv8_pmuv3_0")
    )
    if not has_unit and not tree.match("/sys/bus/event_source/devices/armv8_*"):
        return Finding(
            "perf",
            ABSENT,
            f"{state}; the processor has no counters",
            effect,
            "measure on bare metal, or enable them in the hypervisor (vPMU)",
        )
    if hardware:
        return Finding(
            "perf",
            WARN,
            f"{state}; {hardware}",
            effect,
            f"as root, sysctl kernel.perf_event_paranoid=1, or {_CAPABLE}",
        )
    if level > 1 and hardware is None:
        return Finding(
            "perf",
            WARN,
            state,
            f"for a user who is not root, {effect}",
            f"as root, sysctl kernel.perf_event_paranoid=1, or {_CAPABLE}",
        )
    return Finding("perf", OK, state, "--counters can report cycles, instructions and cache misses")


def ptrace(tree: Tree) -> Finding:
    """Return the finding about attaching a debugger to a process that hangs."""
    scope = tree.number("/proc/sys/kernel/yama/ptrace_scope")
    if scope is None or scope == 0:
        return Finding(
            "ptrace",
            OK,
            "allowed" if scope == 0 else "allowed (no Yama)",
            "a debugger can show where the threads of a hanging run are",
        )
    advice = "as root, sysctl kernel.yama.ptrace_scope=0 while you debug"
    if scope >= 3:
        advice = "reboot: 3 cannot be reset"
    return Finding(
        "ptrace",
        OK,
        f"restricted (ptrace_scope {scope})",
        "figures are not affected; but a debugger cannot show which lock the threads of a hanging "
        "run wait for",
        advice,
    )
