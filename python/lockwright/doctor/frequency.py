"""Findings about the processors' clock rate and its changes during a measurement."""

from lockwright.machine.finding import ABSENT, OK, WARN, Finding, counted
from lockwright.machine.procfs import Tree

_CPU = "/sys/devices/system/cpu"
_HOST = (
    "in a virtual machine, ask the host's administrator; on bare metal, check the firmware's "
    "settings, or load a driver (modprobe acpi-cpufreq)"
)


def _policies(tree: Tree) -> list[str]:
    return tree.match(f"{_CPU}/cpufreq/policy*") or tree.match(f"{_CPU}/cpu[0-9]*/cpufreq")


def governor(tree: Tree) -> Finding:
    """Return the finding about the governor of the clock rate."""
    effect = (
        "the clock rate follows the load: parked waiters let it fall, polling waiters keep it "
        "high, so the cost of the same lock differs between runs"
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
    """Return the finding about the range of allowed clock rates."""
    ranges = set()
    for policy in _policies(tree):
        low = tree.number(f"{policy}/scaling_min_freq")
        high = tree.number(f"{policy}/scaling_max_freq")
        if low and high:
            ranges.add((low, high))
    effect = "different runs, and cycles computed from their times, have different clock rates"
    if not ranges:
        return Finding(
            "clock rate", ABSENT, "the system does not report the range", f"perhaps {effect}", _HOST
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
        f"frequency-set -d {low // 1000}MHz -u {low // 1000}MHz with a rate that all can sustain",
    )


def _mhz(khz: int) -> str:
    return f"{khz / 1000:,.0f} MHz"


def turbo(tree: Tree) -> Finding:
    """Return the finding about a clock rate that rises while few processors are busy."""
    effect = (
        "few busy processors run faster than many: a lock that parks threads gains a clock "
        "rate that has nothing to do with the lock, and scaling curves are distorted"
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
    """Return the finding about the deepest idle state and its exit time."""
    states = {}
    for folder in tree.match(f"{_CPU}/cpu[0-9]*/cpuidle/state*"):
        name, exit_us = tree.text(f"{folder}/name"), tree.number(f"{folder}/latency")
        if name and exit_us is not None and not tree.number(f"{folder}/disable"):
            states[name] = exit_us
    effect = (
        "a processor that was idle for long takes longer to run a woken thread: locks that "
        "park appear slower the less often they are used"
    )
    if not states:
        return Finding(
            "idle states", ABSENT, "the system does not report them", f"perhaps {effect}", _HOST
        )
    deepest = max(states, key=states.__getitem__)
    text = f"{counted(len(states), 'state')}, the deepest {deepest} with {states[deepest]} us"
    if states[deepest] <= 2:
        return Finding("idle states", OK, text, "an idle processor resumes at once")
    return Finding(
        "idle states",
        WARN,
        text,
        effect,
        "as root, cpupower idle-set -D 2, and cpupower idle-set -E afterwards",
    )
