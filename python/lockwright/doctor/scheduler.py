"""Findings about the kernel scheduler's sharing of the processors."""

import gzip
import re

from lockwright.base import numbers
from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

_DEBUG = "/sys/kernel/debug/sched"
_SYSCTL = "/proc/sys/kernel"

SLICES = {
    "base slice": (f"{_DEBUG}/base_slice_ns", f"{_SYSCTL}/sched_base_slice_ns"),
    "minimum granularity": (f"{_DEBUG}/min_granularity_ns", f"{_SYSCTL}/sched_min_granularity_ns"),
    "latency": (f"{_DEBUG}/latency_ns", f"{_SYSCTL}/sched_latency_ns"),
    "wake-up granularity": (
        f"{_DEBUG}/wakeup_granularity_ns",
        f"{_SYSCTL}/sched_wakeup_granularity_ns",
    ),
}
"""Files of the time slice: base slice since Linux 6.6, the others before; sysctls before 5.13."""

_TIME_SLICES = Subject(
    "time slices",
    "with more threads than processors, a preempted lock holder runs again after about a slice: "
    "that is the cost of one lock-holder preemption for FIFO queues and polling",
)
_LIMIT = Subject(
    "real-time limit",
    "polling real-time threads are stopped when it is used up",
    "as root, sysctl kernel.sched_rt_runtime_us=950000",
)
_POLICY = Subject("scheduling", "the measured programs inherit it", "start it without nice")
_ISOLATED = Subject(
    "isolated processors",
    "threads run on them only if pinned, and are not balanced among them: other threads share the "
    "remaining processors",
    "pin one thread to each of them, or measure on the others",
)


def configured(tree: Tree, option: str) -> str | None:
    """Return the value of a kernel build option; None if unknown."""
    release = tree.text(f"{_SYSCTL}/osrelease") or ""
    text = tree.text(f"/boot/config-{release}")
    if text is None:
        try:
            text = gzip.decompress(tree.path("/proc/config.gz").read_bytes()).decode()
        except (OSError, ValueError, EOFError):
            return None
    match = re.search(rf"^{option}=(.*)$", text, re.MULTILINE)
    return match[1].strip('"') if match else None


def slices(tree: Tree) -> Finding:
    """Return the finding about the time slice."""
    texts = []
    for name, files in SLICES.items():
        value = next((n for file in files if (n := tree.number(file)) is not None), None)
        if value is not None:
            texts.append(f"{name} {value / 1e6:g} ms")
    is_known = bool(texts)
    fixed = tree.number(f"{_SYSCTL}/sched_rr_timeslice_ms")
    if fixed is not None:
        texts.append(f"SCHED_RR {fixed} ms")
    rate = configured(tree, "CONFIG_HZ")
    if rate:
        texts.append(f"{rate} ticks a second")
    if not is_known:
        known = f" ({', '.join(texts)})" if texts else ""
        found = f"the kernel does not report those of ordinary threads{known}"
        return _TIME_SLICES.absent(found, "as root, mount -t debugfs none /sys/kernel/debug")
    return _TIME_SLICES.ok(", ".join(texts))


def bandwidth(tree: Tree) -> Finding:
    """Return the finding about the share of the time that real-time threads may use."""
    runtime = tree.number(f"{_SYSCTL}/sched_rt_runtime_us")
    period = tree.number(f"{_SYSCTL}/sched_rt_period_us")
    if runtime is None or not period:
        return _LIMIT.absent()
    if runtime < 0:
        effect = (
            "a polling real-time thread occupies its processor forever; the holder that it waits "
            "for may never run"
        )
        return _LIMIT.warn("none", effect)
    return _LIMIT.ok(f"{numbers.percent(runtime / period)} of each period")


def policy(tree: Tree) -> Finding:
    """Return the finding about this process's scheduling policy, which child processes inherit."""
    words = (tree.text("/proc/self/stat") or "").rpartition(")")[2].split()
    if tree.text("/sys/kernel/sched_ext/state") == "enabled":
        name = tree.text("/sys/kernel/sched_ext/root/ops") or "unknown"
        return _POLICY.warn(
            f"by a loaded scheduler (sched_ext: {name})",
            "behaviour may differ from that under the kernel's own scheduler",
            "stop it, unless it is to be measured",
        )
    if len(words) < 39:
        return _POLICY.absent(effect="none known")
    nice, number = int(words[16]), int(words[38])
    kind = {0: "normal", 1: "SCHED_FIFO", 2: "SCHED_RR", 3: "batch", 5: "idle", 6: "deadline"}
    state = f"{kind.get(number, f'policy {number}')}, nice {nice}"
    if number in (1, 2):
        return _POLICY.warn(
            state,
            "a polling thread keeps a holder of the same or a lower priority from running: locks "
            "may hang that do not elsewhere",
            "start it without chrt, unless that is to be measured",
        )
    if nice > 0 or number in (3, 5):
        effect = "the measured programs inherit it, and yield to every other program"
        return _POLICY.warn(state, effect)
    return _POLICY.ok(state)


def isolated(tree: Tree) -> Finding:
    """Return the finding about processors that the scheduler does not use by itself."""
    listed = tree.text("/sys/devices/system/cpu/isolated")
    if listed:
        return _ISOLATED.warn(listed)
    quiet = tree.text("/sys/devices/system/cpu/nohz_full")
    ticks = f"; {quiet} without ticks" if quiet and quiet != "(null)" else ""
    return _ISOLATED.ok(f"none{ticks}", "threads may run on every processor")
