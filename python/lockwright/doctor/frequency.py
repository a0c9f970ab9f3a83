"""Findings about the processors' clock rate and its changes during a measurement."""

from lockwright.base.wording import counted
from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

_CPU = "/sys/devices/system/cpu"

_GOVERNOR = Subject(
    "governor",
    "the clock rate follows the load: parked waiters let it fall, polling waiters keep it high, so "
    "the cost of the same lock differs between runs",
    "as root, cpupower frequency-set -g performance",
)
_RANGE = Subject(
    "clock rate",
    "different runs, and cycles computed from their times, have different clock rates",
)
_TURBO = Subject(
    "turbo",
    "few busy processors run faster than many: a lock that parks threads gains a clock rate that "
    "has nothing to do with the lock, and scaling curves are distorted",
)
_IDLE = Subject(
    "idle states",
    "a processor that was idle for long takes longer to run a woken thread: locks that park appear "
    "slower the less often they are used",
    "as root, cpupower idle-set -D 2, and cpupower idle-set -E afterwards",
)


def _unknown(subject: Subject, found: str) -> Finding:
    advice = (
        "in a virtual machine, ask the host's administrator; on bare metal, check the firmware's "
        "settings, or load a driver (modprobe acpi-cpufreq)"
    )
    return subject.absent(found, advice, f"perhaps {subject.effect}")


def _policies(tree: Tree) -> list[str]:
    return tree.match(f"{_CPU}/cpufreq/policy*") or tree.match(f"{_CPU}/cpu[0-9]*/cpufreq")


def governor(tree: Tree) -> Finding:
    """Return the finding about the governor of the clock rate."""
    chosen = [tree.text(f"{policy}/scaling_governor") for policy in _policies(tree)]
    names = sorted({name for name in chosen if name})
    if not names:
        return _unknown(_GOVERNOR, "the system does not set the clock rate")
    if names == ["performance"]:
        return _GOVERNOR.ok("performance", "the clock rate does not follow the load")
    return _GOVERNOR.warn(", ".join(names))


def scaling(tree: Tree) -> Finding:
    """Return the finding about the range of allowed clock rates."""
    ranges = set()
    for policy in _policies(tree):
        low = tree.number(f"{policy}/scaling_min_freq")
        high = tree.number(f"{policy}/scaling_max_freq")
        if low and high:
            ranges.add((low, high))
    if not ranges:
        return _unknown(_RANGE, "the system does not report the range")
    low, high = min(pair[0] for pair in ranges), max(pair[1] for pair in ranges)
    if len(ranges) == 1 and low == high:
        return _RANGE.ok(f"fixed at {_mhz(low)}", "it is the same in every run")
    kinds = "" if len(ranges) == 1 else f", {len(ranges)} kinds of processors"
    advice = (
        "compare within a round only, as compare and bench do, or fix it: as root, cpupower "
        f"frequency-set -d {low // 1000}MHz -u {low // 1000}MHz with a rate that all can sustain"
    )
    return _RANGE.warn(f"{_mhz(low)} to {_mhz(high)}{kinds}", advice=advice)


def _mhz(khz: int) -> str:
    return f"{khz / 1000:,.0f} MHz"


def turbo(tree: Tree) -> Finding:
    """Return the finding about a clock rate that rises while few processors are busy."""
    for file, off in ((f"{_CPU}/intel_pstate/no_turbo", 1), (f"{_CPU}/cpufreq/boost", 0)):
        setting = tree.number(file)
        if setting is not None and setting != off:
            return _TURBO.warn("on", advice=f"as root, echo {off} > {file}")
        if setting is not None:
            return _TURBO.ok("off", "the clock rate does not depend on how many are busy")
    return _unknown(_TURBO, "the system has no switch for it")


def idle(tree: Tree) -> Finding:
    """Return the finding about the deepest idle state and its exit time."""
    states = {}
    for folder in tree.match(f"{_CPU}/cpu[0-9]*/cpuidle/state*"):
        name, exit_us = tree.text(f"{folder}/name"), tree.number(f"{folder}/latency")
        if name and exit_us is not None and not tree.number(f"{folder}/disable"):
            states[name] = exit_us
    if not states:
        return _unknown(_IDLE, "the system does not report them")
    deepest = max(states, key=states.__getitem__)
    text = f"{counted(len(states), 'state')}, the deepest {deepest} with {states[deepest]} us"
    if states[deepest] <= 2:
        return _IDLE.ok(text, "an idle processor resumes at once")
    return _IDLE.warn(text)
