"""Findings about the clock source, and the cost of a clock read."""

from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

_FOLDER = "/sys/devices/system/clocksource/clocksource0"

FAST = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Sources that a program reads without a system call."""

SYSTEM_CALL_NS = 100.0
"""Nanoseconds above which a clock read counts as a system call: the processor's counter takes some
20 to 40, a system call some hundreds."""

COARSE_NS = 1000
"""Timer resolution in ns above which short waits are rounded to ticks."""

_SOURCE = Subject(
    "clock source",
    "each clock read is a system call, and may access a device: latencies are overstated by that, "
    "and locks that read the clock while they poll are slower",
    f"as root, echo tsc > {_FOLDER}/current_clocksource",
)
_READ = Subject(
    "clock read",
    "latencies are overstated by about that much, and loops that read the clock are slower",
    "see 'clock source' above",
)
_RESOLUTION = Subject(
    "timer resolution",
    "sleeps end at the next tick: timeouts of locks, and sleeps of a given length, are longer by "
    "up to a tick",
    "use a kernel with CONFIG_HIGH_RES_TIMERS, not started with highres=off",
)


def source(tree: Tree) -> Finding:
    """Return the finding about the kernel's clock source."""
    current = tree.text(f"{_FOLDER}/current_clocksource")
    if not current:
        return _SOURCE.absent(advice="mount /sys")
    if current in FAST:
        return _SOURCE.ok(current, "the clock is read without a system call")
    if "tsc" in (tree.text(f"{_FOLDER}/available_clocksource") or "").split():
        return _SOURCE.warn(current)
    advice = "find in the kernel's log (dmesg | grep -i tsc) why the tsc was rejected"
    return _SOURCE.warn(current, advice=advice)


def cost(nanoseconds: float | None) -> Finding:
    """Return the finding about the cost of a clock read, as measured by lockwright-calibrate."""
    if nanoseconds is None:
        missing = "not measured: lockwright-calibrate is missing or failed"
        return _READ.absent(missing, "build or install Lockwright again")
    text = f"{nanoseconds:.0f} ns"
    if nanoseconds > SYSTEM_CALL_NS:
        return _READ.warn(text)
    return _READ.ok(text, "latencies are overstated by about that much")


def resolution(tree: Tree, nanoseconds: int | None) -> Finding:
    """Return the finding about the kernel's timers. nanoseconds: of clock_getres."""
    if nanoseconds is None:
        return _RESOLUTION.absent()
    slack = tree.number("/proc/self/timerslack_ns")
    text = f"{nanoseconds:,} ns"
    if slack:
        text += f", and a sleep may end {slack / 1000:g} us late (timer slack)"
    if nanoseconds > COARSE_NS:
        return _RESOLUTION.warn(text)
    return _RESOLUTION.ok(text, "timeouts and sleeps may be longer by up to the slack")
