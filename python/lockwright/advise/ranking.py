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


def shortlist(
    seen: Seen, left: Iterable[Lock], fired: Iterable[str], level: str, nodes: int | None, size: int
) -> tuple[Candidate, ...]:
    """The best `size` of the locks, without the baseline: in the order of the most pressing case,
    then of the next, then the smaller first."""
    known = [lock for lock in left if lock.name != BASELINE]
    # Without a statement, the smaller ones come first.
    known.sort(key=lambda lock: (lock.bytes_per_mutex_outside, lock.bytes_per_node))
    ranked: dict[str, str] = {}
    for case in _cases(seen, set(fired), level, nodes):
        stated = [(lock, suits) for lock in known if (suits := lock.suitability(case))]
        for lock, suits in sorted(stated, key=lambda pair: pair[1].rank):
            ranked.setdefault(lock.name, suits.why)
    for lock in known:
        ranked.setdefault(
            lock.name, "satisfies the steps, and nothing more is known of it in such a case"
        )
    return tuple(Candidate(name, why) for name, why in list(ranked.items())[:size])


def _cases(seen: Seen, fired: set[str], level: str, nodes: int | None) -> Iterable[str]:
    """The most pressing first, by the names that the registry has for them."""
    if seen.crowded:
        yield "crowded"
    if "trylock" in fired:
        yield "trylock loop"
    if "memory contention" in fired:
        yield "memory contention"
    if level == "extreme" and nodes != 1:
        yield "extreme contention"
    if level != "low":
        yield "high contention"
        yield "extreme contention"
    if level == "low" and _private(seen):
        yield "private mutexes"
    yield "low contention"


def _private(seen: Seen) -> bool:
    """Whether most acquisitions are of mutexes that one thread uses at a time."""
    taken = sum(mutex.acquisitions for mutex in seen.mutexes)
    own = sum(mutex.acquisitions for mutex in seen.mutexes if mutex.owner_changes < CHANGES)
    return taken > 0 and own >= MOST * taken
