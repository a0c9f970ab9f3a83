"""What this user may access: energy, performance counters, other processes."""

from lockwright.machine.energy.find import Sources
from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree

NAMES = ("RAPL", "perf", "ptrace")
"""Findings that prevent a measurement, and change no figure."""

_CAPABLE = "run as root, or give Python the capability CAP_PERFMON (setcap)"


def rapl(sources: Sources) -> Finding:
    """Whether the energy of the processors can be read."""
    effect = "--energy has nothing to read, and says so; times are not affected"
    if sources.domains:
        kinds = ", ".join(dict.fromkeys(each.kind for each in sources.domains))
        ways = ", ".join(dict.fromkeys(each.way for each in sources.domains))
        missing = "".join(f"; {name}: {why}" for name, why in sources.absent.items())
        return Finding(
            "RAPL",
            OK,
            f"{kinds} (by {ways}){missing}",
            "--energy can tell watts and operations per joule",
        )
    if sources.refused:
        return Finding(
            "RAPL",
            WARN,
            sources.why(),
            effect,
            "run as root, or, as root, chmod -R a+r /sys/class/powercap/intel-rapl* (which lets "
            "any program of the machine watch what others compute)",
        )
    return Finding(
        "RAPL",
        ABSENT,
        sources.why(),
        effect,
        "measure on the bare machine: most hosts of virtual machines keep it to themselves",
    )


def perf(tree: Tree, hardware: str | None) -> Finding:
    """Whether hardware counters can be read. hardware: why the processor's cycles cannot be
    counted; "" if they can, None if it was not tried."""
    level = tree.number("/proc/sys/kernel/perf_event_paranoid")
    effect = "--counters has no cycles, instructions and cache misses, and says so"
    if level is None:
        return Finding(
            "perf",
            ABSENT,
            "this kernel has no performance events",
            effect,
            "use a kernel with CONFIG_PERF_EVENTS",
        )
    found = f"perf_event_paranoid {level}"
    has_unit = any(
        tree.exists(f"/sys/bus/event_source/devices/{name}")
        for name in ("cpu", "cpu_core", "armv8_pmuv3_0")
    )
    if not has_unit and not tree.match("/sys/bus/event_source/devices/armv8_*"):
        return Finding(
            "perf",
            ABSENT,
            f"{found}; the processor shows no counters",
            effect,
            "measure on the bare machine, or let the host show them (vPMU)",
        )
    if hardware:
        return Finding(
            "perf",
            WARN,
            f"{found}; {hardware}",
            effect,
            f"as root, sysctl kernel.perf_event_paranoid=1, or {_CAPABLE}",
        )
    if level > 1 and hardware is None:
        return Finding(
            "perf",
            WARN,
            found,
            f"for a user who is not root, {effect}",
            f"as root, sysctl kernel.perf_event_paranoid=1, or {_CAPABLE}",
        )
    return Finding("perf", OK, found, "--counters can tell cycles, instructions and cache misses")


def ptrace(tree: Tree) -> Finding:
    """Whether a debugger may look into a process that hangs."""
    scope = tree.number("/proc/sys/kernel/yama/ptrace_scope")
    if scope is None or scope == 0:
        return Finding(
            "ptrace",
            OK,
            "allowed" if scope == 0 else "allowed (no Yama)",
            "a debugger can show where the threads of a run stand that hangs",
        )
    advice = "as root, sysctl kernel.yama.ptrace_scope=0 while you look"
    if scope >= 3:
        advice = "start the machine again: 3 cannot be taken back"
    return Finding(
        "ptrace",
        OK,
        f"restricted (ptrace_scope {scope})",
        "no figure changes; but a debugger cannot be put to a run that hangs, to see which lock "
        "its threads wait for",
        advice,
    )
