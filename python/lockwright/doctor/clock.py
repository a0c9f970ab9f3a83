"""Findings about the clock source, and the cost of a clock read."""

from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree

_SOURCE = "/sys/devices/system/clocksource/clocksource0"

FAST = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Sources that a program reads without a system call."""

SYSTEM_CALL_NS = 100.0
"""Nanoseconds above which a clock read counts as a system call: the processor's counter takes some
20 to 40, a system call some hundreds."""

COARSE_NS = 1000
"""Timer resolution in ns above which short waits are rounded to ticks."""


def source(tree: Tree) -> Finding:
    """Return the finding about the kernel's clock source."""
    current = tree.text(f"{_SOURCE}/current_clocksource")
    others = tree.text(f"{_SOURCE}/available_clocksource") or ""
    effect = (
        "each clock read is a system call, and may access a device: latencies are overstated "
        "by that, and locks that read the clock while they poll are slower"
    )
    if not current:
        return Finding(
            "clock source", ABSENT, "the system does not report it", effect, "mount /sys"
        )
    if current in FAST:
        return Finding("clock source", OK, current, "the clock is read without a system call")
    advice = f"as root, echo tsc > {_SOURCE}/current_clocksource"
    if "tsc" not in others.split():
        advice = "find in the kernel's log (dmesg | grep -i tsc) why the tsc was rejected"
    return Finding("clock source", WARN, current, effect, advice)


def cost(nanoseconds: float | None) -> Finding:
    """Return the finding about the cost of a clock read, as measured by lockwright-calibrate."""
    effect = "latencies are overstated by about that much, and loops that read the clock are slower"
    if nanoseconds is None:
        return Finding(
            "clock read",
            ABSENT,
            "not measured: lockwright-calibrate is missing or failed",
            effect,
            "build or install Lockwright again",
        )
    text = f"{nanoseconds:.0f} ns"
    if nanoseconds > SYSTEM_CALL_NS:
        return Finding("clock read", WARN, text, effect, "see 'clock source' above")
    return Finding("clock read", OK, text, "latencies are overstated by about that much")


def resolution(tree: Tree, nanoseconds: int | None) -> Finding:
    """Return the finding about the kernel's timers. nanoseconds: of clock_getres."""
    effect = (
        "sleeps end at the next tick: timeouts of locks, and sleeps of a given length, are longer "
        "by up to a tick"
    )
    if nanoseconds is None:
        return Finding("timer resolution", ABSENT, "the system does not report it", effect)
    slack = tree.number("/proc/self/timerslack_ns")
    text = f"{nanoseconds:,} ns"
    if slack:
        text += f", and a sleep may end {slack / 1000:g} us late (timer slack)"
    if nanoseconds > COARSE_NS:
        return Finding(
            "timer resolution",
            WARN,
            text,
            effect,
            "use a kernel with CONFIG_HIGH_RES_TIMERS, not started with highres=off",
        )
    effect = "timeouts and sleeps may be longer by up to the slack"
    return Finding("timer resolution", OK, text, effect)
