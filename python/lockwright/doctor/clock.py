"""The clock source, and what reading the clock costs."""

from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree

_SOURCE = "/sys/devices/system/clocksource/clocksource0"

FAST = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Sources that a program reads without a system call."""

DEAR_NS = 100.0
"""Nanoseconds of a clock read above which it is a system call: reading the processor's counter
takes some 20 to 40, a system call some hundreds."""

COARSE_NS = 1000
"""Timer resolution in ns above which short waits are rounded to ticks."""


def source(tree: Tree) -> Finding:
    """The kernel's clock source."""
    current = tree.text(f"{_SOURCE}/current_clocksource")
    others = tree.text(f"{_SOURCE}/available_clocksource") or ""
    effect = (
        "each look at the clock is a system call, and may go to a device: latencies are too long "
        "by that, and locks that look at the clock while they poll are slowed"
    )
    if not current:
        return Finding("clock source", ABSENT, "the system does not say", effect, "mount /sys")
    if current in FAST:
        return Finding("clock source", OK, current, "the clock is read without a system call")
    advice = f"as root, echo tsc > {_SOURCE}/current_clocksource"
    if "tsc" not in others.split():
        advice = "see in the kernel's log (dmesg | grep -i tsc) why it does not trust the tsc"
    return Finding("clock source", WARN, current, effect, advice)


def cost(nanoseconds: float | None) -> Finding:
    """What a clock read costs, as lockwright-bench measured it."""
    effect = "every latency is too long by about that much, and every loop that looks is slower"
    if nanoseconds is None:
        return Finding(
            "clock read",
            ABSENT,
            "not measured: lockwright-bench is missing or failed",
            effect,
            "build or install Lockwright again",
        )
    found = f"{nanoseconds:.0f} ns"
    if nanoseconds > DEAR_NS:
        return Finding("clock read", WARN, found, effect, "see 'clock source' above")
    return Finding("clock read", OK, found, "every latency is too long by about that much")


def resolution(tree: Tree, nanoseconds: int | None) -> Finding:
    """The resolution of the kernel's timers. nanoseconds: of clock_getres."""
    effect = (
        "sleeps end at the next tick: timeouts of locks, and waits of known length, are longer "
        "than they should be by up to a tick"
    )
    if nanoseconds is None:
        return Finding("timer resolution", ABSENT, "the system does not say", effect)
    slack = tree.number("/proc/self/timerslack_ns")
    found = f"{nanoseconds:,} ns"
    if slack:
        found += f", and a sleep may end {slack / 1000:g} us late (timer slack)"
    if nanoseconds > COARSE_NS:
        return Finding(
            "timer resolution",
            WARN,
            found,
            effect,
            "use a kernel with CONFIG_HIGH_RES_TIMERS, not started with highres=off",
        )
    return Finding(
        "timer resolution",
        OK,
        found,
        "timeouts and sleeps are longer than they say by up to the slack",
    )
