"""The nine bottlenecks of the papers (TOCS 2019), each a function of what is seen in a profile."""

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


def diagnose(seen: Seen) -> tuple[Diagnosis, ...]:
    """All nine, whether they fired or not."""
    return tuple(rule(seen) for rule in ALL)
