"""The advice on the reader-writer locks of a profile. Shares are from 0 to 1, times in
nanoseconds."""

from dataclasses import dataclass

from lockwright.advise import thresholds
from lockwright.advise.advice import Candidate, Change, Evidence
from lockwright.advise.evidence import all_met, at_least, at_most
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.base import numbers
from lockwright.preload.rwlocks import KEEP, MUTEX
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
"""Most locks of the shortlist."""

MOSTLY_WRITTEN = 0.5
"""Highest share of reads at which most sections exclude each other anyway."""


@dataclass(frozen=True)
class RwLockAdvice:
    """The advice on reader-writer locks. sentence: empty if there is nothing to say. shortlist: of
    names for --rwlock, the best first."""

    sentence: str = ""
    sensitivity: tuple[Evidence, ...] = ()
    shortlist: tuple[Candidate, ...] = ()
    changes: tuple[Change, ...] = ()


def advise_on_rwlocks(figures: ProfileFigures) -> RwLockAdvice:
    """Return the advice on the reader-writer locks, all of which `--rwlock` replaces alike. It
    follows the lock that costs most."""
    rwlocks = figures.profile.rwlocks
    if not rwlocks:
        return RwLockAdvice()
    lost = at_least(
        "time lost waiting for reader-writer locks",
        figures.lost_share_of(figures.profile.rwlocks_lost),
        thresholds.LOST,
        "share",
        "as for mutexes",
    )
    worst = rwlocks[0]
    starved = [
        (each.name, change) for each in rwlocks if (change := _starved_writers(each)) is not None
    ]
    as_mutex = [change for each in rwlocks if (change := _mutex_instead(figures, each)) is not None]
    changes = [*(change for _, change in starved), *as_mutex]
    if lost.met:
        shortlist = _shortlist(figures, worst, bool(starved), bool(as_mutex))
        names = " or ".join(candidate.lock for candidate in shortlist[:2])
        share = numbers.share(lost.value or 0.0)
        sentence = (
            f"Try --rwlock {names}: threads lost {share} of the time in which they ran or waited"
            f" for reader-writer locks, most of it for {worst.name}"
            f" ({numbers.share(worst.read_share)} reads)."
        )
        return RwLockAdvice(sentence, (lost,), shortlist, tuple(changes))
    if starved:
        shortlist = _shortlist(figures, worst, True, False)
        names = ", ".join(name for name, _ in starved)
        sentence = f"Writers of {names} wait far longer than any section lasts."
        return RwLockAdvice(sentence, (lost,), shortlist, tuple(changes))
    return RwLockAdvice("", (lost,), (), tuple(as_mutex))


def _shortlist(
    figures: ProfileFigures, worst: RwLock, starves: bool, suits_mutex: bool
) -> tuple[Candidate, ...]:
    """Return the reader-writer locks to try, the best first."""
    share = f"{numbers.share(worst.read_share)} of the acquisitions are reads"
    chosen: list[Candidate] = []
    if suits_mutex:
        chosen.append(Candidate(MUTEX, f"readers hardly meet; {share}"))
    if starves:
        chosen += [
            Candidate("phase-fair", "a writer waits for one phase of readers only"),
            Candidate("futex-rw", "a waiting writer comes before later readers"),
        ]
    if figures.crowded:
        chosen += [
            Candidate("parking-lot-rw", "its waiters sleep; threads outnumber the processors"),
            Candidate("shfl-rw", "the other one that gained with more threads than processors"),
        ]
    elif worst.read_share >= MOSTLY_READ:
        chosen += [
            Candidate("big-reader", f"readers write different cache lines; {share}"),
            Candidate("c-rw-wp", "the same by NUMA node, with writers first"),
        ]
    else:
        chosen += [
            Candidate("parking-lot-rw", f"few steps for writers; {share}"),
            Candidate("futex-rw", "one word, and a waiting writer before later readers"),
        ]
    distinct: dict[str, Candidate] = {}
    for each in chosen:
        distinct.setdefault(each.lock, each)
    return tuple(distinct.values())[:_MOST]


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
        at_least(
            "time lost waiting for it",
            figures.lost_share_of(rwlock.lost),
            thresholds.LOST,
            "share",
            "it counts",
        ),
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
