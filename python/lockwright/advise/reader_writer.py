"""The advice on the reader-writer locks of a profile. Shares are from 0 to 1, times in
nanoseconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lockwright.advise import lock_users, thresholds
from lockwright.advise.advice import NAMED, Candidate, Change, Evidence
from lockwright.advise.evidence import all_met, at_least, at_most, costs_time, informs
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.base import numbers, wording
from lockwright.preload.locks import DEFAULT_LOCK, DEFAULT_RWLOCK
from lockwright.preload.rwlocks import DEFAULT, KEEP, MUTEX, rwlocks
from lockwright.preload.rwlocks import RwLock as Algorithm
from lockwright.profile.record import RwLock

MOSTLY_READ = 0.95
"""Least share of reads for locks with distributed readers, whose writers visit every processor's
counter: up to 80 % reads they lose against the others where both were measured
(docs/rwlocks.md)."""

STARVED = 20
"""Least number of the longest sections for which a starved writer waits: those of the readers that
are inside when it comes overlap, and a writer or two may be before it."""

LONG_WAIT = 1_000_000
"""Least wait of a starved writer in ns: a thread that parks for less is hardly noticed."""

FEW_READERS = 0.05
"""Highest number of readers inside, on average over the run, at which they hardly ever meet."""

_MOST = 4
"""Most locks of the shortlist, beside the default."""

_OF_DEFAULT = Candidate(
    DEFAULT, f"{DEFAULT_RWLOCK}, and {DEFAULT_LOCK} for mutexes; safe, not predicted"
)

MOSTLY_WRITTEN = 0.5
"""Highest share of reads at which most sections exclude each other anyway."""


@dataclass(frozen=True)
class RwLockAdvice:
    """The advice on reader-writer locks. sentence: empty if there is nothing to say. shortlist: of
    names for --rwlock, the best first; before them DEFAULT, if it can be named."""

    sentence: str = ""
    sensitivity: tuple[Evidence, ...] = ()
    shortlist: tuple[Candidate, ...] = ()
    changes: tuple[Change, ...] = ()


def advise_on_rwlocks(
    figures: ProfileFigures,
    registry: Mapping[str, Algorithm] | None = None,
    *,
    names_default: bool = False,
) -> RwLockAdvice:
    """Return the advice on the reader-writer locks, all of which `--rwlock` replaces alike. It
    follows the lock that costs most. registry: the algorithms to choose from, by default those of
    the build. names_default: whether DEFAULT can be named. Raises LockwrightError without a
    registry."""
    profiled = figures.profile.rwlocks
    if not profiled:
        return RwLockAdvice()
    known = (rwlocks() if registry is None else registry).values()
    lost = at_least(
        "time lost waiting for reader-writer locks",
        figures.lost_share_of(figures.profile.rwlocks_lost),
        thresholds.LOST,
        "share",
        "as for mutexes",
    )
    worst = profiled[0]
    starved = [
        (each.name, change) for each in profiled if (change := _starved_writers(each)) is not None
    ]
    as_mutex = [
        change for each in profiled if (change := _mutex_instead(figures, each)) is not None
    ]
    in_program = [
        replace(change, rwlock=index)
        for index, each in enumerate(profiled)
        if (change := _in_program(figures, each)) is not None
    ]
    changes = [*(change for _, change in starved), *in_program, *as_mutex]
    before = (_OF_DEFAULT,) if names_default else ()
    if lost.met:
        shortlist = _shortlist(figures, known, worst, bool(starved), bool(as_mutex))
        names = wording.either([candidate.lock for candidate in shortlist[:NAMED]])
        default = f"{DEFAULT}, or " if before else ""
        share = numbers.share(lost.value or 0.0)
        sentence = (
            f"Try {default}--rwlock {names}: threads lost {share} of the time in which they ran or"
            f" waited for reader-writer locks, most of it for '{worst.name}'"
            f" ({numbers.share(worst.read_share)} reads)."
        )
        return RwLockAdvice(sentence, (lost,), (*before, *shortlist), tuple(changes))
    if starved:
        shortlist = _shortlist(figures, known, worst, True, False)
        names = ", ".join(name for name, _ in starved)
        sentence = f"Writers of {names} wait far longer than any section lasts."
        return RwLockAdvice(sentence, (lost,), (*before, *shortlist), tuple(changes))
    return RwLockAdvice("", (lost,), (), tuple(as_mutex))


def _shortlist(
    figures: ProfileFigures,
    registry: Iterable[Algorithm],
    worst: RwLock,
    starves: bool,
    suits_mutex: bool,
) -> tuple[Candidate, ...]:
    """Return the reader-writer locks to try, the best first."""
    chosen: dict[str, str] = {}
    if suits_mutex:
        share = numbers.share(worst.read_share)
        chosen[MUTEX] = f"readers hardly meet; {share} of the acquisitions are reads"
    candidates = sorted(
        registry, key=lambda lock: (lock.bytes_per_lock_outside, lock.bytes_per_node)
    )
    for case in _cases(figures, worst, starves):
        for lock, why in _ranked(candidates, case):
            chosen.setdefault(lock.name, why)
    return tuple(Candidate(name, why) for name, why in chosen.items())[:_MOST]


def _cases(figures: ProfileFigures, worst: RwLock, starves: bool) -> Iterable[str]:
    """Yield the use cases, by their names in the registry, the most important first."""
    if starves:
        yield "starved writers"
    if figures.crowded:
        yield "crowded"
    elif worst.read_share >= MOSTLY_READ:
        yield "mostly read"
    else:
        yield "read and written"


def _starved_writers(rwlock: RwLock) -> Change | None:
    readers, writers = rwlock.readers, rwlock.writers
    longest = max(readers.holding.p99, writers.holding.p99)
    evidence = (
        at_least("wait of a writer (p90)", writers.waiting.p90, LONG_WAIT, "ns", "it is noticed"),
        at_least(
            "wait of a writer in longest sections (hold p99)",
            writers.waiting.p90 / longest if longest else 0.0,
            STARVED,
            "",
            "more than those before it",
        ),
        at_least(
            "share of reads", rwlock.read_share, MOSTLY_WRITTEN, "share", "readers pass writers"
        ),
        at_least(
            "wait of a writer in waits of a reader (p90)",
            writers.waiting.p90 / max(1.0, readers.waiting.p90),
            2,
            "",
            "else a preempted holder delays both",
        ),
    )
    if not all_met(evidence):
        return None
    text = (
        f"At {rwlock.name}, writers are starved: one waits {numbers.time(writers.waiting.p90)}"
        f" (p90), while the sections last {numbers.time(longest)} (p99), for readers that come"
        " later pass it. Use a lock that admits writers, as phase-fair, or the C library's"
        " preference PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP."
    )
    return Change("starved writers", None, text, evidence)


def _in_program(figures: ProfileFigures, rwlock: RwLock) -> Change | None:
    """Return the change to the program that shortens the waiting for a lock: of its long sections,
    of sections that write without need, or of what it protects."""
    cost = costs_time(figures.lost_share_of(rwlock.lost))
    reads = informs("share of reads", rwlock.read_share, "share")
    sites = [*rwlock.readers.sites, *rwlock.writers.sites]
    longest = max(sites, key=lambda site: site.held, default=None)
    if not cost.met or longest is None or not longest.stack:
        return None
    mean = longest.held / longest.acquisitions if longest.acquisitions else 0.0
    evidence = (cost, reads, informs("a section of the place with most of the time", mean, "ns"))
    where = f"At {rwlock.name}"
    if mean >= thresholds.LONG_SECTION:
        text = (
            f"{where}, shorten the sections that begin at {longest.label}: {numbers.time(mean)} on"
            " average. Move all work that does not need the lock before or after them."
        )
        return Change("smaller section", None, text, evidence)
    writer = max(rwlock.writers.sites, key=lambda site: site.acquisitions, default=None)
    # Where some read, or several functions write, these are there to change something.
    writing = lock_users.users([(site, site.acquisitions) for site in rwlock.writers.sites])
    if rwlock.read_share <= lock_users.FEW and writer is not None and len(writing) == 1:
        text = (
            f"{where}, nearly all acquisitions write, at {writer.label}: where these mostly find"
            " nothing to change, take it for reading first, and for writing only to change it."
        )
        return Change("reader-writer lock", None, text, evidence)
    if rwlock.read_share >= MOSTLY_READ and rwlock.readers.holding.p50 <= thresholds.SHORT_READ:
        text = (
            f"{where}, nearly all sections read, and half take"
            f" {numbers.time(rwlock.readers.holding.p50)} at most: publish the data by an atomic"
            " pointer to a version that does not change, or keep a copy in each thread."
        )
        return Change("atomic", None, text, evidence)
    text = (
        f"{where}, if its users mostly touch different data, divide the data into parts, each with"
        " a lock of its own, for instance by a hash of the key."
    )
    return Change("sharding", None, text, evidence)


def _mutex_instead(figures: ProfileFigures, rwlock: RwLock) -> Change | None:
    """Return the advice to use a mutex where reading together is worth nothing."""
    inside = figures.per_second(rwlock.readers.holding.total) / 1e9 / max(1, rwlock.instances)
    evidence = (
        at_most(
            "readers inside at one time, on average",
            inside,
            FEW_READERS,
            "",
            "two of them hardly ever meet",
        ),
        at_least(
            "acquisitions of it",
            figures.per_cpu_second(rwlock.acquisitions),
            thresholds.ACQUISITIONS,
            "1/cpu s",
            "a mutex is acquired in fewer steps",
        ),
    )
    mostly_written = (
        at_most(
            "share of reads", rwlock.read_share, MOSTLY_WRITTEN, "share", "most sections exclude"
        ),
        costs_time(figures.lost_share_of(rwlock.lost)),
    )
    for reason, figures_of in (
        ("readers hardly ever meet", evidence),
        ("most acquisitions write", mostly_written),
    ):
        if all_met(figures_of):
            text = (
                f"At {rwlock.name}, {reason}: a mutex may be faster. 'lockwright compare --rwlocks"
            )
            text += f" {KEEP},{MUTEX}' measures it without changing the program."
            return Change("mutex", None, text, figures_of)
    return None


def _ranked(locks: Iterable[Algorithm], case: str) -> list[tuple[Algorithm, str]]:
    """Return the locks that are recommended for a use case, each with the reason: by their rank,
    and of equal rank in the order in which they are given."""
    stated = [(lock, each) for lock in locks for each in lock.use_cases if each.case == case]
    stated.sort(key=lambda pair: pair[1].rank)
    return [(lock, suitability.why) for lock, suitability in stated]
