"""Mutexes for which threads wait because a thread holds them for long without working on the data:
no lock shortens these waits."""

from collections.abc import Sequence
from typing import Final, Literal

from lockwright.base import numbers
from lockwright.profile.record import Distribution, Mutex, Profile, Site

SLEPT: Final = "slept"
"""The holders sleep in their sections, for a device, for input or for a time."""
GATE: Final = "gate"
"""One place keeps it locked for long, to stop others, which only pass through."""
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
"""The same where the holder does not sleep: shorter holds may be computations on the data, or those
of a thread that lost its processor. Also of a gate that one function closes and another opens."""

MOSTLY = 2 / 3
"""Least share of the run for which such a gate is closed; half of it where the holder sleeps. Of a
gate that one function closes and another one opens: of the waiting, that which is for these."""

PASSAGE = 10_000
"""Longest section in ns of a thread that passes a gate, on average or in half of the passages."""

EMPTY = 1_000
"""The same where one function closes the gate and another one opens it."""

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
    return _found(mutex.holding)


def _found(lengths: Distribution) -> float:
    time = sum(weight * low for low, weight in lengths.buckets)
    squares = sum(weight * low * low for low, weight in lengths.buckets)
    return squares / time if time else lengths.mean


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
    if reason(profile, index) == SLEPT:
        return (
            f"Threads waited for {mutex.name} while its holders slept: {numbers.share(mutex.slept)}"
            f" of the time in its sections, in sections of {numbers.time(found_hold(mutex))}. No"
            " lock helps."
        )
    # The last hold of a gate may not have ended.
    hold = numbers.time(max(found_hold(mutex), _found(mutex.waiting)))
    where = f" at {place}" if (place := kept_at(mutex)) else ""
    return (
        f"{mutex.name} is a gate: it was kept locked{where}, for {hold} at a time, while other"
        " threads only passed through. No lock helps."
    )


def kept_at(mutex: Mutex) -> str:
    """Return the site of the holds for which most of the waiting was, "" if unknown."""
    block = max(mutex.blocks, key=lambda block: block.waited, default=None)
    return mutex.holder(block) if block is not None else ""


def _is_gate(profile: Profile, index: int) -> bool:
    mutex = profile.mutexes[index]
    keepers = [site for site in mutex.sites if site.is_left_locked]
    is_gate = _stops_others(mutex) and _is_passed(mutex, keepers, EMPTY)
    if not is_gate and _is_mostly_closed(mutex, profile.process.duration):
        is_gate = _is_passed(mutex, _keepers(mutex), PASSAGE)
    return is_gate and not _keepers_wait(profile, index)


def _is_passed(mutex: Mutex, keepers: Sequence[Site], longest: float) -> bool:
    """Return whether the other sites than the keepers wait, and have sections of `longest` ns at
    most."""
    passers = [site for site in mutex.sites if site not in keepers]
    waited = sum(site.waited for site in mutex.sites)
    passages = sum(site.acquisitions for site in passers)
    # Of few passages, one during which the thread was preempted has most of the time.
    short = sum(weight for low, weight in mutex.holding.buckets if low <= longest)
    is_short = sum(site.held for site in passers) <= longest * passages or 2 * short >= passages
    return is_short and sum(site.waited for site in passers) >= MOST * waited


def _stops_others(mutex: Mutex) -> bool:
    """Return whether threads wait for long, and for holds that begin in one function and end in
    another, whereas a section is usually in one: locking and releasing are acts of their own."""
    waited = sum(block.waited for block in mutex.blocks)
    stopped = sum(
        block.waited
        for block in mutex.blocks
        if block.holder >= 0 and mutex.sites[block.holder].is_left_locked
    )
    # A hold of which no sample knows the end may be another.
    return bool(waited) and stopped >= MOSTLY * waited and _found(mutex.waiting) >= BUSY_CLOSED


def _is_mostly_closed(mutex: Mutex, duration: float) -> bool:
    """Return whether the mutex was held for long for most of the run, of `duration` ns."""
    least, share = (CLOSED, 0.5) if mutex.slept >= SLEEPING else (BUSY_CLOSED, MOSTLY)
    is_closed = mutex.holding.total >= share * duration * mutex.instances
    return is_closed and found_hold(mutex) >= least and any(site.waited for site in mutex.sites)


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
