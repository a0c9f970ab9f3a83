"""The share of the time that threads lost by waiting for mutexes."""

OF_WHICH_TIME = "of the time in which threads ran or waited"
"""What the share is a share of, in words."""


def lost_share(waited: float, all_waited: float, cpu: float) -> float:
    """Return the share, from 0 to 1, of `waited` in the time in which threads ran or waited. All
    times are in ns and summed over the threads. waited: for a mutex, or for all; all_waited: for
    all mutexes; cpu: processor time of the process.

    It is a ratio like the critical section pressure of David et al. (Continuously Measuring
    Critical Section Pressure with the Free-Lunch Profiler, OOPSLA 2014), of all threads."""
    active = all_waited + cpu
    return waited / active if active > 0 else 0.0
