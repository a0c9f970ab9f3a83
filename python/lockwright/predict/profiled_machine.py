"""Whether a profile is from this machine, and what it states about the machine."""

from dataclasses import replace

from lockwright.advise.thresholds import FAULT_NS
from lockwright.machine import provenance
from lockwright.profile.record import Profile
from lockwright.simulate.machine import Machine

_SAME = ("machine", "cpu", "kernel")

_ENOUGH = 50
"""Least number of sleeps of waiters that state how long a wake takes."""

_WAITING = ("sleep", "wake", "interrupt", "switch")
"""What a sleep and its wake take in the kernel, besides latency."""

_TOO_LATE = ("miss", "bucket")
"""The same of a call that finds that there is nothing to wait for, or nobody to wake."""

_MOST_KERNEL = 4.0
"""Kernel time of waits, as a multiple of what the machine's figures state, above which it is taken
to be for other calls; the largest factor of those figures."""

_MOST_SLEEPS = 8.0
"""Sleeps for each contended acquisition above which most of them are not for mutexes."""


def is_this(profile: Profile) -> bool:
    """Return whether the profile is from a machine with this one's processors and kernel."""
    facts = provenance.machine()
    return all(facts.get(name) == profile.provenance.get(name) for name in _SAME)


def with_wakes(profile: Profile, machine: Machine) -> Machine:
    """Return the machine of a profile with the latency of a wake that the profile has, if that is
    longer: the time of the waits that were long enough for sleep, for each sleep, less half a
    section. In a virtual machine it depends on how the host runs idle processors."""
    process = profile.process
    contended = sum(mutex.contended for mutex in profile.mutexes)
    sleeps = process.voluntary - process.cond_waits
    runnable = process.runnable or 0.0
    if not (_ENOUGH <= sleeps <= _MOST_SLEEPS * contended) or runnable > 1.1 * process.processors:
        return machine
    section = profile.mutexes[0].holding.mean
    figures = machine.figures
    least = figures["kernel.sleep_ns"] + figures["kernel.wake_ns"] + section
    slept, waits = _long_waits(profile, least)
    latency = slept / max(sleeps, waits) - section / 2 - figures["kernel.interrupt_latency_ns"]
    if latency <= figures["kernel.wake_latency_ns"]:
        return machine
    return replace(machine, figures={**figures, "kernel.wake_latency_ns": latency})


def kernel_time(profile: Profile, machine: Machine) -> float:
    """Return the ns in the kernel that waits for mutexes took: all but page faults, if threads
    slept for nothing else, and if it is not many times what the waits take by the machine's
    figures: the program has other system calls then. Otherwise, and where other programs took the
    processors, which makes each sleep dearer, 0: it is not known."""
    process = profile.process
    contended = sum(mutex.contended for mutex in profile.mutexes)
    sleeps = process.voluntary
    if process.pressure > 1 or process.cond_waits or not 0 < sleeps <= contended:
        return 0.0
    faults = process.minor_faults + process.major_faults
    spent = max(0.0, process.cpu_system - FAULT_NS * faults)
    sleep, too_late = (_kernel_ns(machine, parts) for parts in (_WAITING, _TOO_LATE))
    # The waiter's call and the holder's, either of which may come too late.
    expected = sleep * sleeps + 2 * too_late * contended
    return spent if spent <= _MOST_KERNEL * expected else 0.0


def _kernel_ns(machine: Machine, parts: tuple[str, ...]) -> float:
    return sum(machine.figures[f"kernel.{part}_ns"] for part in parts)


def kernel_factor(factor: float, profiled: float, simulated: float) -> float:
    """Return the factor of the kernel's costs after one of `factor` has had that simulated time in
    the kernel, in place of the profiled one. Calibration measures these costs one by one, on idle
    processors, so that they are never less."""
    if not simulated:
        return factor
    return min(_MOST_KERNEL, max(1.0, factor * profiled / simulated))


def with_kernel_costs(machine: Machine, factor: float) -> Machine:
    """Return the machine on which all calls of the kernel for a wait take longer by a factor."""
    costs = {
        f"kernel.{part}_ns": factor * machine.figures[f"kernel.{part}_ns"]
        for part in (*_WAITING, *_TOO_LATE)
    }
    return replace(machine, figures={**machine.figures, **costs})


def _long_waits(profile: Profile, least: float) -> tuple[float, float]:
    """Return the ns and the number of all waits of at least that many ns."""
    total = number = 0.0
    for mutex in profile.mutexes:
        waiting = mutex.waiting
        weights = sum(weight for _, weight in waiting.buckets)
        if not weights:
            continue
        scale = waiting.count / weights
        long = [(low, weight) for low, weight in waiting.buckets if low >= least]
        number += scale * sum(weight for _, weight in long)
        short = sum(low * weight for low, weight in waiting.buckets if low < least)
        total += max(0.0, waiting.total - scale * short)
    return total, number
