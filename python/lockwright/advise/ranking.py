"""Which of the locks that the steps leave to try first, by what the papers found in such cases."""

from collections.abc import Iterable

from lockwright.advise.advice import Candidate
from lockwright.advise.seen import Seen
from lockwright.preload.locks import BASELINE, Lock

CHANGES = 0.001
"""Of the acquisitions of a mutex, those at which another thread had it last: below this it is as
good as one thread's own."""

MOST = 0.9
"""Of all acquisitions, those of such mutexes that make the program one of private mutexes."""

Order = tuple[tuple[str, str], ...]

_MANY_THREADS: Order = (
    ("malth-stp", "advised first where threads outnumber processors (TOCS 2019, figure 7)"),
    ("mcs-timepub", "passes over waiters that do not run (TOCS 2019, figure 7)"),
    ("lifo-cr", "keeps the lock with the threads that run, as malth-stp does"),
    ("mutexee", "takes a thread that runs before it wakes one that sleeps"),
    ("gcr-mcs-stp", "keeps all but a few waiters asleep"),
    ("loiter", "lets threads that run race, and wakes only the first sleeper"),
    ("mutable", "lets as many waiters poll as come in time"),
    ("futex", "lets whoever runs take the lock"),
    ("pthreadadapt", "polls for about as long as others had to, then sleeps"),
    ("parking-lot", "lets whoever runs take the lock, and is one byte"),
    ("wordlock", "lets whoever runs take the lock"),
    ("go-mutex", "lets whoever runs take the lock, with bounded waiting"),
    ("shfllock-stp", "keeps to a NUMA node, and parks"),
    ("mcscrn", "malth-stp for machines with several nodes"),
    ("c-bo-mcs-stp", "hierarchical, and parks"),
    ("biased-futex", "parks once a second thread has come"),
    ("glk", "changes to a mutex that parks"),
    ("gcr-ttas", "keeps all but a few waiters asleep"),
    ("clh-stp", "parks, but the next in line is the one most likely asleep"),
    ("mcs-stp", "parks, but the next in line is the one most likely asleep"),
)

_MEMORY: Order = (
    (
        "malth-spin",
        "keeps few threads in circulation, which spares the caches (TOCS 2019, figure 7)",
    ),
    (
        "malth-stp",
        "keeps few threads in circulation, which spares the caches (TOCS 2019, figure 7)",
    ),
    ("backoff", "polls rarely (TOCS 2019, figure 7)"),
    ("ttas-ls", "polls rarely (TOCS 2019, figure 7)"),
    ("lifo-cr", "keeps few threads in circulation"),
    ("gcr-ttas", "keeps few threads in circulation"),
)

_TRYLOCK: Order = (
    ("c-bo-mcs-spin", "its trylock takes long, 170 cycles (TOCS 2019)"),
    ("hmcs", "its trylock takes longest, 220 cycles (TOCS 2019)"),
    ("mcs-timepub", "its trylock is hardened, and it passes over waiters that do not run"),
    ("c-tkt-tkt", "its trylock takes two levels"),
    ("c-ptl-tkt", "its trylock takes two levels"),
    ("clof", "its trylock takes several levels"),
    ("hticket-ls", "its trylock takes two levels"),
)

_EXTREME: Order = (
    ("hmcs", "among the best with all threads in three of the papers' machines (TOCS 2019)"),
    ("c-tkt-tkt", "among the best with all threads (TOCS 2019)"),
    ("c-bo-mcs-spin", "among the best with all threads (TOCS 2019)"),
    ("c-ptl-tkt", "among the best with all threads (TOCS 2019)"),
    ("ahmcs", "the papers' advice for extreme contention (TOCS 2019, figure 7)"),
    ("cna", "hands over within a node, in one word"),
    ("shfllock", "hands over within a node, in two words"),
    ("fissile", "hands over within a node, in two words"),
    ("clof", "a level for each cache, node and package"),
)

_HIGH: Order = (
    ("mcs-spin", "best of all with the best number of nodes on the 64 processors (TOCS 2019)"),
    ("mcs-timepub", "best of all with all threads on the 64 processors (TOCS 2019)"),
    ("malth-spin", "keeps few threads in circulation"),
    ("reciprocating", "hands over in short, local steps"),
    ("clh-spin", "every thread polls a place of its own"),
    ("mcs-try", "every thread polls a place of its own"),
    ("hmcs", "among the best with the best number of nodes (TOCS 2019)"),
    ("c-tkt-tkt", "among the best with the best number of nodes (TOCS 2019)"),
)

_PRIVATE: Order = (
    ("biased-futex", "the first thread enters without an atomic operation"),
    ("biased-mcs-stp", "the first thread enters without an atomic operation"),
)

_LIGHT: Order = (
    ("ttas", "one atomic operation to enter, a plain store to leave"),
    ("futex", "one atomic operation each way, and parks"),
    ("backoff", "one atomic operation to enter, a plain store to leave, and polls rarely"),
    ("ticket", "one atomic operation to enter, and first come, first served"),
    ("parking-lot", "one byte, and parks"),
    ("spinlock", "one atomic operation to enter, a plain store to leave"),
    ("pthreadadapt", "the C library's mutex that polls before it sleeps"),
)


def shortlist(
    seen: Seen, left: Iterable[Lock], fired: Iterable[str], level: str, nodes: int | None, size: int
) -> tuple[Candidate, ...]:
    """The best `size` of the locks, without the baseline: in the order of the most pressing case,
    then of the next, then the smaller first."""
    known = {lock.name: lock for lock in left if lock.name != BASELINE}
    ranked: dict[str, str] = {}
    for order in _orders(seen, set(fired), level, nodes):
        for name, why in order:
            if name in known:
                ranked.setdefault(name, why)
    rest = [lock for lock in known.values() if lock.name not in ranked]
    for lock in sorted(rest, key=lambda lock: (lock.bytes_per_mutex_outside, lock.bytes_per_node)):
        ranked[lock.name] = "satisfies the steps, and nothing more is known of it in such a case"
    return tuple(Candidate(name, why) for name, why in list(ranked.items())[:size])


def _orders(seen: Seen, fired: set[str], level: str, nodes: int | None) -> Iterable[Order]:
    if seen.crowded:
        yield _MANY_THREADS
    if "trylock" in fired:
        yield _TRYLOCK
    if "memory contention" in fired:
        yield _MEMORY
    if level == "extreme" and nodes != 1:
        yield _EXTREME
    if level != "low":
        yield _HIGH
        yield _EXTREME
    if level == "low" and _private(seen):
        yield _PRIVATE
    yield _LIGHT


def _private(seen: Seen) -> bool:
    """Whether most acquisitions are of mutexes that one thread uses at a time."""
    taken = sum(mutex.acquisitions for mutex in seen.mutexes)
    own = sum(mutex.acquisitions for mutex in seen.mutexes if mutex.owner_changes < CHANGES)
    return taken > 0 and own >= MOST * taken
