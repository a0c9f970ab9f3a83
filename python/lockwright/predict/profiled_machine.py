"""Whether a profile is from this machine, and what it states about the machine."""

from dataclasses import replace

from lockwright.machine import provenance
from lockwright.profile.record import Profile
from lockwright.simulate.machine import Machine

_SAME = ("machine", "cpu", "kernel")

_ENOUGH = 50
"""Least number of sleeps of waiters that state how long a wake takes."""

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
