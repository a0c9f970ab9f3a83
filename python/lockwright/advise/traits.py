"""Conditions of the steps that follow from several traits of a lock, or need an explanation."""

from lockwright.preload.locks import BY_PRIORITY, Lock


def serves_by_priority(lock: Lock) -> bool:
    """Return whether the waiter of the highest real-time priority is the successor."""
    return lock.realtime == BY_PRIORITY


def spins(lock: Lock) -> bool:
    """Return whether waiters poll at least at first. Those of spin-then-park locks park after about
    the time of a context switch, which few waits reach while every thread has a processor."""
    return lock.waiting != "park"


def hands_over_to_spinning(lock: Lock) -> bool:
    """Return whether the lock is handed to a successor that may not be running and cannot park."""
    return (lock.fifo or lock.category == "direct handoff") and not lock.parking


def small(lock: Lock) -> bool:
    """Return whether a mutex needs no memory outside itself. Queue nodes do not count: they come
    from a pool of each thread, so their number does not grow with that of the mutexes."""
    return lock.bytes_per_mutex_outside == 0
