"""The conditions that the steps put on a lock, from its traits."""

from lockwright.preload.locks import BY_PRIORITY, Lock


def survives_oversubscription(lock: Lock) -> bool:
    """Return whether the lock makes progress with more threads than processors."""
    return lock.survives_oversubscription


def serves_by_priority(lock: Lock) -> bool:
    """Return whether the waiter of the highest real-time priority is the successor."""
    return lock.realtime == BY_PRIORITY


def spins(lock: Lock) -> bool:
    """Return whether waiters poll at least at first. Those that spin, then park, do so after about
    the time of a context switch, which few waits reach while every thread has a processor."""
    return lock.waiting != "park"


def hands_over_to_spinning(lock: Lock) -> bool:
    """Return whether the lock is handed to a successor that may not be running and cannot park."""
    return (lock.fifo or lock.category == "direct handoff") and not lock.parking


def small(lock: Lock) -> bool:
    """Return whether a mutex needs no memory outside itself. Queue nodes come from a pool of each
    thread, so their number does not grow with that of the mutexes."""
    return lock.bytes_per_mutex_outside == 0


def low_traffic(lock: Lock) -> bool:
    """Return whether the lock moves few cache lines, or keeps few of them in circulation."""
    return lock.low_traffic


def has_hardened_trylock(lock: Lock) -> bool:
    """Return whether calling trylock in a loop does not flood the lock."""
    return lock.hardened_trylock


def light(lock: Lock) -> bool:
    """Return whether an uncontended acquisition costs one atomic operation and no queue node."""
    return lock.light


def hierarchical(lock: Lock) -> bool:
    """Return whether the lock is passed within a NUMA node for a while."""
    return lock.numa_aware
