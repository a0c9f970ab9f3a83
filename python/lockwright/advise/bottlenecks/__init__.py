"""The nine bottlenecks of the papers (TOCS 2019), each a function of what is seen in a profile."""

import dataclasses

from lockwright.advise.advice import Diagnosis
from lockwright.advise.bottlenecks import contention, footprint, memory, scheduling
from lockwright.advise.seen import Seen

ALL = (
    contention.high,
    contention.extreme,
    contention.trylock,
    contention.uncontended,
    scheduling.holder_preemption,
    scheduling.hand_over,
    footprint.page_clearing,
    footprint.fault_handler,
    memory.memory_contention,
)


SEEN_FROM_OUTSIDE = frozenset({"high", "extreme"})
"""What can be told of a process that was only looked at: who waits, and no call that succeeded."""


def diagnose(seen: Seen) -> tuple[Diagnosis, ...]:
    """All nine, whether they fired or not."""
    found = tuple(rule(seen) for rule in ALL)
    if seen.from_within:
        return found
    return tuple(
        each
        if each.key in SEEN_FROM_OUTSIDE
        else dataclasses.replace(each, fired=False, mutexes=(), measurable=False)
        for each in found
    )
