"""What to change in the program: for each mutex that costs, what its figures suggest."""

from collections.abc import Callable, Iterable

from lockwright.advise import thresholds
from lockwright.advise.advice import Change, Diagnosis
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.seen import Seen
from lockwright.profile.record import Mutex, Site

LONG = 10_000
"""ns from which on a section is long: then what a lock adds, at most about a microsecond between
threads that run, is less than a tenth of it."""

TINY = 100
"""ns up to which half the sections last: a few instructions, and measuring the time itself."""

OFTEN = 100_000
"""Acquisitions a second, of what another thread had last, from which on a tiny section costs: at
about 50 ns for a cache line that moves, half a per cent of a thread."""

DOMINANT = 0.6
"""Of the time in the sections of a mutex, that of one site."""

CONCENTRATED = 0.6
"""Of the time lost waiting, that at one mutex."""

FUTILE = 0.25
"""Of the waits on condition variables, those that woke for nothing."""

FUTILE_RATE = 100
"""Wake-ups for nothing for each second: at about 50 us each, half a per cent of a thread."""


def changes(seen: Seen, fired: Iterable[Diagnosis]) -> tuple[Change, ...]:
    """The mutex that costs most comes first; then what concerns the whole program."""
    found: list[Change] = []
    for index, mutex in enumerate(seen.mutexes):
        for rule in _OF_A_MUTEX:
            change = rule(seen, index, mutex)
            if change is not None:
                found.append(change)
    keys = {each.key: each for each in fired}
    if "holder preemption" in keys:
        found.append(
            Change(
                "fewer threads",
                None,
                f"Run as many threads as there are processors ({seen.process.processors}) where"
                " the program lets you choose: then nobody takes the processor from a holder.",
                keys["holder preemption"].evidence,
            )
        )
    if "fault handler" in keys:
        found.append(
            Change(
                "reuse",
                None,
                "Keep objects that contain a mutex for reuse instead of returning their memory:"
                " every new page takes a lock of the kernel.",
                keys["fault handler"].evidence,
            )
        )
    return tuple(found)


def _costs(seen: Seen, mutex: Mutex) -> bool:
    return seen.lost(mutex.lost) >= thresholds.LOST


def _dominant(mutex: Mutex) -> tuple[Site, float] | None:
    """The site that holds it longest in all, and its share."""
    held = sum(site.held for site in mutex.sites)
    if not held:
        return None
    site = max(mutex.sites, key=lambda each: each.held)
    return site, site.held / held


def _smaller_section(seen: Seen, index: int, mutex: Mutex) -> Change | None:
    dominant = _dominant(mutex)
    if not _costs(seen, mutex) or dominant is None or not dominant[0].stack:
        return None
    site, share = dominant
    mean = site.held / site.acquisitions if site.acquisitions else 0.0
    evidence = (
        at_least("a section from there, on average", mean, LONG, "ns", "a lock adds at most 1 us"),
        at_least("time in the sections that is from there", share, DOMINANT, "share", "most of it"),
        informs("time lost waiting", seen.lost(mutex.lost), "share"),
    )
    if not all_met(evidence):
        return None
    text = (
        f"Shorten the section that begins at {site.shown}: do there only what needs the"
        " mutex, and the rest before or after. No lock makes a section shorter."
    )
    return Change("smaller section", index, text, evidence)


def _atomic(seen: Seen, index: int, mutex: Mutex) -> Change | None:
    if mutex.cond_waits or not mutex.holding.count:
        return None
    evidence = (
        at_most("half of its sections, up to", mutex.holding.p50, TINY, "ns", "a few instructions"),
        at_least(
            "acquisitions after another thread had it",
            seen.per_second(mutex.acquisitions * mutex.owner_changes),
            OFTEN,
            "1/s",
            "50 ns for each cache line that moves",
        ),
        at_most("places that take it", float(len(mutex.sites)), 3, "", "a counter has few"),
    )
    if not all_met(evidence):
        return None
    text = "If it protects a counter or a single word, make that atomic and drop the mutex."
    return Change("atomic", index, text, evidence)


def _sharding(seen: Seen, index: int, mutex: Mutex) -> Change | None:
    if mutex.cond_waits >= thresholds.WAITS_PER_ENTRY * mutex.acquisitions or mutex.instances > 1:
        return None
    whole = seen.profile.lost
    evidence = (
        at_least(
            "time lost waiting for it", seen.lost(mutex.lost), thresholds.LOST, "share", "it counts"
        ),
        at_least(
            "of all waiting, for this one mutex",
            mutex.lost / whole if whole else 0.0,
            CONCENTRATED,
            "share",
            "most of it",
        ),
        at_least("threads that use it", float(mutex.threads), 2, "threads", "else nobody waits"),
    )
    if not all_met(evidence):
        return None
    text = (
        "If its users mostly touch different data, divide the data into parts, each with a mutex"
        " of its own, for instance by a hash of the key."
    )
    return Change("sharding", index, text, evidence)


def _signal(seen: Seen, index: int, mutex: Mutex) -> Change | None:
    evidence = (
        at_least(
            "waits on a condition variable that were woken for nothing",
            mutex.futile_wakeups / mutex.cond_waits if mutex.cond_waits else 0.0,
            FUTILE,
            "share",
            "each costs two context switches",
        ),
        at_least(
            "of these", seen.per_second(mutex.futile_wakeups), FUTILE_RATE, "1/s", "50 us each"
        ),
    )
    if not all_met(evidence):
        return None
    text = (
        "Threads are woken that have nothing to do: wake one (pthread_cond_signal) instead of all,"
        " or give each condition a condition variable of its own."
    )
    return Change("signal", index, text, evidence)


def _lock_instead(seen: Seen, index: int, mutex: Mutex) -> Change | None:
    evidence = (
        at_least(
            "failed trylocks for each acquisition",
            mutex.failed_trylocks / max(1.0, mutex.acquisitions),
            thresholds.TRIES_PER_ENTRY,
            "",
            "more than one failure for each entry is a loop",
        ),
        at_least(
            "failed trylocks",
            seen.per_cpu_second(mutex.failed_trylocks),
            thresholds.FAILED_TRIES,
            "1/cpu s",
            "1 % of the processor time",
        ),
    )
    if not all_met(evidence):
        return None
    text = (
        "Call pthread_mutex_lock after a few failed tries: a lock that is queued for is passed on."
    )
    return Change("lock", index, text, evidence)


_OF_A_MUTEX: tuple[Callable[[Seen, int, Mutex], Change | None], ...] = (
    _smaller_section,
    _atomic,
    _sharding,
    _signal,
    _lock_instead,
)
