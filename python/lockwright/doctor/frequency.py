"""The processors' clock rate, and whether it changes during a measurement."""

from lockwright.machine.finding import ABSENT, OK, WARN, Finding, counted
from lockwright.machine.procfs import Tree

_CPU = "/sys/devices/system/cpu"
_HOST = (
    "in a virtual machine, ask whoever runs the host; on a bare machine, look in the firmware's "
    "settings, or load a driver (modprobe acpi-cpufreq)"
)


def _policies(tree: Tree) -> list[str]:
    found = tree.match(f"{_CPU}/cpufreq/policy*")
    return found or tree.match(f"{_CPU}/cpu[0-9]*/cpufreq")


def governor(tree: Tree) -> Finding:
    """The governor of the clock rate."""
    effect = (
        "the clock rate follows the load: threads that sleep in a lock let it fall, threads that "
        "poll keep it up, so the same lock costs more in one run than in the next"
    )
    chosen = [tree.text(f"{policy}/scaling_governor") for policy in _policies(tree)]
    names = sorted({name for name in chosen if name})
    if not names:
        return Finding(
            "governor", ABSENT, "the system does not set the clock rate", f"perhaps {effect}", _HOST
        )
    if names == ["performance"]:
        return Finding("governor", OK, "performance", "the clock rate does not follow the load")
    return Finding(
        "governor",
        WARN,
        ", ".join(names),
        effect,
        "as root, cpupower frequency-set -g performance",
    )


def scaling(tree: Tree) -> Finding:
    """The range of clock rates that is allowed."""
    ranges = set()
    for policy in _policies(tree):
        low = tree.number(f"{policy}/scaling_min_freq")
        high = tree.number(f"{policy}/scaling_max_freq")
        if low and high:
            ranges.add((low, high))
    effect = "times of different runs, and cycles reckoned from them, are of different clock rates"
    if not ranges:
        return Finding(
            "clock rate", ABSENT, "the system does not tell the range", f"perhaps {effect}", _HOST
        )
    low, high = min(pair[0] for pair in ranges), max(pair[1] for pair in ranges)
    if len(ranges) == 1 and low == high:
        return Finding("clock rate", OK, f"fixed at {_mhz(low)}", "it is the same in every run")
    kinds = "" if len(ranges) == 1 else f", {len(ranges)} kinds of processors"
    return Finding(
        "clock rate",
        WARN,
        f"{_mhz(low)} to {_mhz(high)}{kinds}",
        effect,
        "compare within a round only, as compare and bench do, or fix it: as root, cpupower "
        f"frequency-set -d {low // 1000}MHz -u {low // 1000}MHz with a rate that all can keep",
    )


def _mhz(khz: int) -> str:
    return f"{khz / 1000:,.0f} MHz"


def turbo(tree: Tree) -> Finding:
    """Whether the clock rate rises while few processors are busy."""
    effect = (
        "few busy processors run faster than many: a lock that keeps threads asleep gains a clock "
        "rate that has nothing to do with the lock, and a curve over threads bends"
    )
    off = tree.number(f"{_CPU}/intel_pstate/no_turbo")
    if off is not None:
        switch, on = f"echo 1 > {_CPU}/intel_pstate/no_turbo", off == 0
    else:
        boost = tree.number(f"{_CPU}/cpufreq/boost")
        if boost is None:
            return Finding(
                "turbo", ABSENT, "the system has no switch for it", f"perhaps {effect}", _HOST
            )
        switch, on = f"echo 0 > {_CPU}/cpufreq/boost", boost != 0
    if on:
        return Finding("turbo", WARN, "on", effect, f"as root, {switch}")
    return Finding("turbo", OK, "off", "the clock rate does not depend on how many are busy")


def idle(tree: Tree) -> Finding:
    """The deepest idle state, and the time to leave it."""
    states = {}
    for folder in tree.match(f"{_CPU}/cpu[0-9]*/cpuidle/state*"):
        name, exit_us = tree.text(f"{folder}/name"), tree.number(f"{folder}/latency")
        if name and exit_us is not None and not tree.number(f"{folder}/disable"):
            states[name] = exit_us
    effect = (
        "a processor that was idle for long takes longer to run the thread that is woken on it: "
        "locks that sleep seem slower the rarer they are used"
    )
    if not states:
        return Finding(
            "idle states", ABSENT, "the system does not tell them", f"perhaps {effect}", _HOST
        )
    deepest = max(states, key=states.__getitem__)
    found = f"{counted(len(states), 'state')}, the deepest {deepest} with {states[deepest]} us"
    if states[deepest] <= 2:
        return Finding("idle states", OK, found, "an idle processor is back at once")
    return Finding(
        "idle states",
        WARN,
        found,
        effect,
        "as root, cpupower idle-set -D 2, and cpupower idle-set -E afterwards",
    )
