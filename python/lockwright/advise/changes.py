"""Changes to the program that the figures of its costly mutexes suggest."""

from collections.abc import Callable, Iterable, Sequence

from lockwright.advise import lock_users, thresholds
from lockwright.advise.advice import Change, Diagnosis, Evidence
from lockwright.advise.evidence import all_met, at_least, at_most, costs_time, informs
from lockwright.advise.other_locks import ALLOCATOR
from lockwright.advise.profile_figures import ProfileFigures, time_share_of_longest
from lockwright.base import numbers
from lockwright.profile import long_holds
from lockwright.profile.record import Mutex, Site

TINY = 100
"""Highest median length in ns of sections of a few instructions, with the time that measuring
takes."""

NEARLY_ALL = 3 * TINY
"""Highest length in ns that nine of ten such sections have: some find the cache line taken. Above
it, there are sections that do more, as those of a table or a list."""

OFTEN = 100_000
"""Least number of acquisitions per second after another thread held the mutex at which a tiny
section costs: at about 50 ns for a cache line that moves, half a per cent of a thread."""

DOMINANT = 0.6
"""Least share of one site in the time in the sections of a mutex."""

PREEMPTED = 0.5
"""Highest share of preempted sections in the time that a mutex is held, for which shorter sections
are advised: the rest is time that a section itself needs."""

POLLED = 0.25
"""Least share of polling in the time that a mutex is held, for which shorter sections are advised
although their holders are preempted: samples find only those that poll on a processor."""

CONCENTRATED = 0.6
"""Least share of one mutex in the time lost waiting."""

FUTILE = 0.25
"""Least share of futile wake-ups in the waits on condition variables."""

FUTILE_RATE = 100
"""Futile wake-ups per second: at about 50 us each, half a per cent of a thread."""


def changes(
    figures: ProfileFigures, fired: Iterable[Diagnosis], can_gain: bool
) -> tuple[Change, ...]:
    """Return the changes, those for the most costly mutex first, those for the entire program
    last. can_gain: whether less waiting would make the program faster; without that, no change is
    advised that only shortens it."""
    suggested: list[Change] = []
    keys = {diagnosis.key: diagnosis for diagnosis in fired}
    allocators = [i for i, each in enumerate(figures.mutexes) if lock_users.is_allocators(each)]
    if can_gain:
        suggested += _allocator(figures, allocators, keys.get("uncontended"))
    for index, mutex in enumerate(figures.mutexes):
        for rule in _rules(figures, index, can_gain and index not in allocators):
            change = rule(figures, index, mutex)
            if change is not None:
                suggested.append(change)
    suggested += [
        Change(kind, None, text, keys[key].evidence)
        for key, kind, text in _OF_BOTTLENECKS
        if key in keys and (kind != "batch" or _can_batch(figures, keys[key], suggested))
    ]
    if "holder preemption" in keys and figures.lost_share >= thresholds.LOST:
        suggested.append(
            Change(
                "fewer threads",
                None,
                f"Run as many threads as there are processors ({figures.process.processors}) where"
                " the program lets you choose: then no other thread preempts a holder.",
                keys["holder preemption"].evidence,
            )
        )
    return tuple(suggested)


_OF_BOTTLENECKS = (
    (
        "uncontended",
        "batch",
        "Take a mutex once for several accesses that follow each other, instead of for each.",
    ),
    (
        "handover",
        "poll",
        "Let a thread look for what it waits for during some microseconds before it sleeps on the"
        " condition variable: each sleep and wake takes tens of microseconds.",
    ),
    (
        "page clearing",
        "parallel creation",
        "Let each thread create the objects that it uses: then the kernel clears their pages on all"
        " processors at once.",
    ),
    (
        "fault handler",
        "reuse",
        "Keep objects that contain a mutex for reuse instead of returning their memory: every new"
        " page acquires a lock of the kernel.",
    ),
    (
        "memory contention",
        "less memory",
        "Touch less memory between two sections, or the same memory again while a cache has it: no"
        " mutex costs as much.",
    ),
)
"""The changes that a bottleneck suggests whatever the mutexes: its key, and kind and text of the
change."""


def _rules(figures: ProfileFigures, index: int, can_gain: bool) -> "_Rules":
    if index in figures.unhelped:
        return (_long_hold, *_OF_CALLS)
    if lock_users.is_interpreters(figures.mutexes[index]):
        return (_processes,) if can_gain else ()
    return (*_OF_WAITING, *_OF_CALLS) if can_gain else _OF_CALLS


def _can_batch(figures: ProfileFigures, of: Diagnosis, others: Iterable[Change]) -> bool:
    """Return whether the program itself can take the mutex with most of the uncontended
    acquisitions less often, and would have to. others: the changes for the mutexes."""
    if not of.mutexes:
        return True
    mutex = figures.mutexes[of.mutexes[0]]
    if lock_users.is_allocators(mutex) or lock_users.is_interpreters(mutex):
        return False
    return not any(each.mutex == of.mutexes[0] and each.kind == "atomic" for each in others)


def _allocator(
    figures: ProfileFigures, indices: Sequence[int], uncontended: Diagnosis | None
) -> list[Change]:
    """Return the change for the mutexes of a memory allocator, by their indices, if threads wait
    for them or take them very often: its users cannot change them one by one."""
    if not indices:
        return []
    cost = costs_time(figures.lost_share_of(sum(figures.mutexes[i].lost for i in indices)))
    evidence: tuple[Evidence, ...] = (cost,)
    # The first mutex of a diagnosis has most of what it counts.
    if not cost.met and uncontended and {*uncontended.mutexes[:1]} & {*indices}:
        evidence = uncontended.evidence
    return [Change("allocator", indices[0], ALLOCATOR, evidence)] if all_met(evidence) else []


def _processes(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    evidence = (costs_time(figures.lost_share_of(mutex.lost)),)
    if not all_met(evidence):
        return None
    text = (
        "Only one thread at a time runs Python code: use processes instead of threads, or libraries"
        " that release it while they compute."
    )
    return Change("processes", index, text, evidence)


def _costs(figures: ProfileFigures, mutex: Mutex) -> bool:
    return figures.lost_share_of(mutex.lost) >= thresholds.LOST


def _dominant(mutex: Mutex) -> tuple[Site, float] | None:
    """Return the site with the longest total time in sections, and its share of that time."""
    held = sum(site.held for site in mutex.sites)
    if not held:
        return None
    longest = max(mutex.sites, key=lambda site: site.held)
    return longest, longest.held / held


def _smaller_section(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    dominant = _dominant(mutex)
    if not _costs(figures, mutex) or dominant is None or not dominant[0].stack:
        return None
    site, share = dominant
    mean = site.held / site.acquisitions if site.acquisitions else 0.0
    evidence = (
        at_least(
            "a section from there, on average",
            mean,
            thresholds.LONG_SECTION,
            "ns",
            "a lock adds at most 1 us",
        ),
        at_least("time in the sections that is from there", share, DOMINANT, "share", "most of it"),
        _own_time(figures, mutex, site),
        informs("median of its sections (hold p50)", mutex.holding.p50, "ns"),
        informs("99th percentile (hold p99)", mutex.holding.p99, "ns"),
        informs("time lost waiting", figures.lost_share_of(mutex.lost), "share"),
    )
    if not all_met(evidence):
        return None
    long, others = "sections", ""
    if mutex.holding.p50 < thresholds.LONG_SECTION:
        half = numbers.time(mutex.holding.p50)
        long, others = "long sections", f", while half of all sections of it take {half} at most"
    text = (
        f"Shorten the {long} that begin at {site.label}: {numbers.time(mean)} on average{others}."
        " Move all work that does not need the mutex before or after them."
    )
    return Change("smaller section", index, text, evidence)


def _own_time(figures: ProfileFigures, mutex: Mutex, site: Site) -> Evidence:
    """Return the evidence that sections take their time themselves: their holder is not preempted,
    or polls for something meanwhile."""
    inside = {lock_users.name(frame) for frame in site.stack[: site.wrappers + 1]}
    polled = sum(
        each.waited
        for loop in figures.profile.waits
        if loop.kind == "spin"
        for each in loop.waiters
        if each.stack and lock_users.name(each.stack[0]) in inside
    )
    by_polling = at_least(
        "time in the sections in which the holder polled for something",
        polled / mutex.holding.total if mutex.holding.total else 0.0,
        POLLED,
        "share",
        "the rest may be polling without a processor",
    )
    if by_polling.met:
        return by_polling
    return at_most(
        "time in the sections while the holder was preempted",
        time_share_of_longest(mutex.holding, mutex.preempted_holds),
        PREEMPTED,
        "share",
        "a shorter section would not change it",
    )


def _long_hold(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    evidence = (
        costs_time(figures.lost_share_of(mutex.lost)),
        informs("time in its sections in which the holder slept", mutex.slept, "share"),
        informs("length of the hold that a waiter finds", long_holds.found_hold(mutex), "ns"),
    )
    dominant = _dominant(mutex)
    if not all_met(evidence) or dominant is None:
        return None
    is_gate = figures.unhelped[index] == long_holds.GATE
    place = long_holds.kept_at(mutex) if is_gate else dominant[0].label
    where = f" that begin at {place}" if place else ""
    if is_gate:
        text = (
            "If it is there to stop the threads that wait for it, it needs no change; else end the"
            f" sections{where} earlier."
        )
        return Change("gate", index, text, evidence)
    text = (
        f"Move what the holder sleeps for (input, output, a pause) out of the sections{where}:"
        " copy the data inside, and sleep after the unlock."
    )
    return Change("sleep outside", index, text, evidence)


def _atomic(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    if mutex.cond_waits or not mutex.holding.count:
        return None
    takers = lock_users.users([(site, site.acquisitions) for site in mutex.sites])
    rate, lost = figures.per_second(mutex.acquisitions), figures.lost_share_of(mutex.lost)
    moved = at_least(
        "acquisitions after another thread held it",
        rate * mutex.owner_changes,
        OFTEN,
        "1/s",
        "50 ns for each cache line that moves",
    )
    # A thread that keeps its processor takes it many times before another one has it.
    waited = (
        at_least(
            "acquisitions",
            figures.per_cpu_second(mutex.acquisitions),
            thresholds.ACQUISITIONS,
            "1/cpu s",
            "50 ns more than an atomic instruction: 5 % of the time",
        ),
        costs_time(lost),
    )
    evidence = (
        at_most(
            "median of its sections (hold p50)", mutex.holding.p50, TINY, "ns", "a few instructions"
        ),
        at_most(
            "nine of ten of its sections (hold p90)",
            mutex.holding.p90,
            NEARLY_ALL,
            "ns",
            "the others wait for the cache line",
        ),
        *(waited if not moved.met and all_met(waited) else (moved,)),
        at_most("functions that take it", float(len(takers)), 3, "", "a counter has few"),
    )
    if not all_met(evidence):
        return None
    text = "If it protects a counter or a single word, make that atomic and drop the mutex."
    return Change("atomic", index, text, evidence)


_SHARDING = (
    "If its users mostly touch different data, divide the data into parts, each with a mutex of its"
    " own, for instance by a hash of the key."
)


def _sharding(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    if mutex.cond_waits >= thresholds.WAITS_PER_ENTRY * mutex.acquisitions or mutex.instances > 1:
        return None
    polled = _polling(figures, mutex)
    if all_met(polled) and mutex.threads > 1:
        return Change("sharding", index, _SHARDING, polled)
    total = figures.profile.lost
    evidence = (
        costs_time(figures.lost_share_of(mutex.lost)),
        at_least(
            "time lost waiting for it, of that for all mutexes",
            mutex.lost / total if total else 0.0,
            CONCENTRATED,
            "share",
            "most of it",
        ),
        at_least(
            "threads that use it", float(mutex.threads), 2, "threads", "one alone never waits"
        ),
    )
    if not all_met(evidence):
        return None
    return Change("sharding", index, _SHARDING, evidence)


def _reader_writer(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    dominant = _dominant(mutex)
    if mutex.cond_waits or dominant is None or not dominant[0].stack:
        return None
    site, share = dominant
    evidence = (
        costs_time(figures.lost_share_of(mutex.lost)),
        at_least(
            "median of its sections (hold p50)",
            mutex.holding.p50,
            thresholds.SHORT_READ,
            "ns",
            "readers of shorter ones still contend for the word that counts them",
        ),
        at_least("time in the sections from one place", share, DOMINANT, "share", "most of it"),
        at_least(
            "threads that use it", float(mutex.threads), 2, "threads", "one alone never waits"
        ),
    )
    if not all_met(evidence):
        return None
    text = (
        f"If the sections that begin at {site.label} only read, which a profile does not show, a"
        " reader-writer lock lets them run together: 'lockwright what-if"
        f" PROFILE --mutex {index + 1} --reads {share:.2g}' predicts what that gains,"
        f" 'lockwright what-if --measure --mutex {index + 1} --readers SITE -- CMD' measures it."
    )
    return Change("reader-writer lock", index, text, evidence)


def _signal(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    evidence = (
        at_least(
            "waits on a condition variable that ended in a futile wake-up",
            mutex.futile_wakeups / mutex.cond_waits if mutex.cond_waits else 0.0,
            FUTILE,
            "share",
            "each costs two context switches",
        ),
        at_least(
            "futile wake-ups",
            figures.per_second(mutex.futile_wakeups),
            FUTILE_RATE,
            "1/s",
            "50 us each",
        ),
    )
    if not all_met(evidence):
        return None
    text = (
        "Threads wake up with nothing to do: wake one (pthread_cond_signal) instead of all,"
        " or give each condition a condition variable of its own."
    )
    return Change("signal", index, text, evidence)


def _lock_instead(figures: ProfileFigures, index: int, mutex: Mutex) -> Change | None:
    evidence = _polling(figures, mutex)
    if not all_met(evidence):
        return None
    text = "Call pthread_mutex_lock after a few failed tries: a queued waiter is handed the lock."
    return Change("lock", index, text, evidence)


def _polling(figures: ProfileFigures, mutex: Mutex) -> tuple[Evidence, ...]:
    """Return the evidence that threads wait for a mutex by trying it."""
    return (
        at_least(
            "failed trylocks for each acquisition",
            mutex.failed_trylocks / max(1.0, mutex.acquisitions),
            thresholds.TRIES_PER_ENTRY,
            "",
            "more than one failure for each entry is a loop",
        ),
        at_least(
            "failed trylocks",
            figures.per_cpu_second(mutex.failed_trylocks),
            thresholds.FAILED_TRIES,
            "1/cpu s",
            "1 % of the processor time",
        ),
    )


_Rules = tuple[Callable[[ProfileFigures, int, Mutex], Change | None], ...]

_OF_WAITING: _Rules = (_smaller_section, _atomic, _sharding, _reader_writer)

_OF_CALLS: _Rules = (_signal, _lock_instead)
