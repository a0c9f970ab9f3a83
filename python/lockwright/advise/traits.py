"""What the steps ask of a lock, from what it states about itself."""

from lockwright.preload.locks import BY_PRIORITY, Lock


def bears_many_threads(lock: Lock) -> bool:
    """Makes progress with more threads than processors."""
    return lock.survives_oversubscription


def serves_by_priority(lock: Lock) -> bool:
    """Of waiters with real-time priorities, the one of the highest is next."""
    return lock.realtime == BY_PRIORITY


def spins(lock: Lock) -> bool:
    """Polls at least at first: one that sleeps afterwards does so after about the time of a context
    switch, which few waits reach as long as every thread has a processor."""
    return lock.waiting != "park"


def hands_over_to_spinning(lock: Lock) -> bool:
    """Names the next owner, whether that is running or not, and cannot put it to sleep."""
    return (lock.fifo or lock.category == "direct handoff") and not lock.parking


def small(lock: Lock) -> bool:
    """Needs no memory outside the mutex for each mutex. Queue nodes come from a pool for each
    thread, so their number does not grow with that of the mutexes."""
    return lock.bytes_per_mutex_outside == 0


def low_traffic(lock: Lock) -> bool:
    """Moves few cache lines, or keeps few threads in circulation."""
    return lock.low_traffic


def has_hardened_trylock(lock: Lock) -> bool:
    """A trylock in a loop does not flood it."""
    return lock.hardened_trylock


def light(lock: Lock) -> bool:
    """Taking it when it is free costs one atomic operation and no queue node."""
    return lock.light


def hierarchical(lock: Lock) -> bool:
    """Stays on a NUMA node for a while."""
    return lock.numa_aware
