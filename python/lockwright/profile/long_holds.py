"""Mutexes for which threads wait because a thread holds them for long without working on the data:
no lock shortens these waits."""

from typing import Final, Literal

from lockwright.base import numbers
from lockwright.profile.record import Mutex, Profile, Site

SLEPT: Final = "slept"
"""The holders sleep in their sections, for a device, for input or for a time."""
GATE: Final = "gate"
"""One place keeps it locked for most of the time, while others only pass through."""
Reason = Literal["slept", "gate"]

SLEEPING = 0.5
"""Least share of sleep in the time in sections."""

WAKE = 50_000
"""Least length in ns of the hold that a waiter finds: the time to wake a parked thread, which is
the most that another lock can save."""

CLOSED = 1_000_000
"""Least length in ns of the hold that a waiter finds at a gate: twenty times WAKE, so that another
lock saves less than 5 %."""

BUSY_CLOSED = 10_000_000
"""The same where the holder does not sleep: shorter holds may be computations on the data."""

MOSTLY = 2 / 3
"""Least share of the run for which such a gate is closed; half of it where the holder sleeps."""

PASSAGE = 10_000
"""Longest section in ns of a thread that passes a gate, on average or in half of the passages."""

MOST = 0.9
"""Least share of the place that keeps a gate locked in the time in sections, and of the other
places and threads in the time waited."""


def reason(profile: Profile, index: int) -> Reason | None:
    """Return why threads wait for a mutex, by its index, if that is not for its lock; else None."""
    mutex = profile.mutexes[index]
    if not mutex.lost or index in profile.deadlock:
        return None
    if _is_gate(profile, index):
        return GATE
    return SLEPT if mutex.slept >= SLEEPING and found_hold(mutex) >= WAKE else None


def found_hold(mutex: Mutex) -> float:
    """Return the mean length in ns of the hold that a thread finds that comes at any moment."""
    holding = mutex.holding
    time = sum(weight * low for low, weight in holding.buckets)
    squares = sum(weight * low * low for low, weight in holding.buckets)
    return squares / time if time else holding.mean


def parts(profile: Profile) -> str:
    """Return how much of the time lost is at such mutexes; "" if none."""
    texts = []
    for kind, where in ((SLEPT, "while holders slept"), (GATE, "at gates")):
        lost = sum(
            mutex.lost for i, mutex in enumerate(profile.mutexes) if reason(profile, i) == kind
        )
        if lost:
            texts.append(f"{numbers.time(lost)} of it {where}")
    return ", ".join(texts)


def sentence(profile: Profile, index: int) -> str:
    """Return why no lock shortens the waits for a mutex that has a reason."""
    mutex = profile.mutexes[index]
    hold = numbers.time(found_hold(mutex))
    if reason(profile, index) == SLEPT:
        return (
            f"Threads waited for {mutex.name} while its holders slept: {numbers.share(mutex.slept)}"
            f" of the time in its sections, in sections of {hold}. No lock helps."
        )
    keepers = _keepers(mutex)
    where = f" at {keepers[0].label}" if keepers[0].label else ""
    return (
        f"{mutex.name} is a gate: it was kept locked{where}, for {hold} at a time, while other"
        " threads only passed through. No lock helps."
    )


def _is_gate(profile: Profile, index: int) -> bool:
    mutex, duration = profile.mutexes[index], profile.process.duration
    waited = sum(site.waited for site in mutex.sites)
    least, share = (CLOSED, 0.5) if mutex.slept >= SLEEPING else (BUSY_CLOSED, MOSTLY)
    is_closed = mutex.holding.total >= share * duration * mutex.instances
    if not is_closed or found_hold(mutex) < least or not waited:
        return False
    keepers = _keepers(mutex)
    passers = [site for site in mutex.sites if site not in keepers]
    if sum(site.waited for site in passers) < MOST * waited or _keepers_wait(profile, index):
        return False
    passages = sum(site.acquisitions for site in passers)
    # Of few passages, one during which the thread was preempted has most of the time.
    short = sum(weight for low, weight in mutex.holding.buckets if low <= PASSAGE)
    return sum(site.held for site in passers) <= PASSAGE * passages or 2 * short >= passages


def _keepers_wait(profile: Profile, index: int) -> bool:
    """Return whether the threads that hold a mutex for long also wait for it, by the timeline."""
    spans = [span for span in profile.timeline if span.mutex == index]
    keep = {
        span.thread for span in spans if span.kind == "hold" and span.end - span.begin >= CLOSED
    }
    waits = [(span.thread in keep, span.end - span.begin) for span in spans if span.kind == "wait"]
    of_keepers = sum(time for keeps, time in waits if keeps)
    return of_keepers > (1 - MOST) * sum(time for _, time in waits)


def _keepers(mutex: Mutex) -> list[Site]:
    """Return the fewest sites with MOST of the time in sections, the longest first."""
    keepers: list[Site] = []
    left = MOST * sum(site.held for site in mutex.sites)
    for site in sorted(mutex.sites, key=lambda site: -site.held):
        if left <= 0:
            break
        keepers.append(site)
        left -= site.held
    return keepers
