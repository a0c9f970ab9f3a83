"""The order in which to try the locks that the steps leave, by the papers' results."""

from collections.abc import Iterable

from lockwright.advise.advice import Candidate
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.preload.locks import BASELINE, Lock

CHANGES = 0.001
"""Share of the acquisitions of a mutex after another thread held it: below this it is as good as
private to one thread."""

MOST = 0.9
"""Share of private mutexes in all acquisitions from which on a program has private mutexes."""


def shortlist(
    figures: ProfileFigures,
    left: Iterable[Lock],
    fired: Iterable[str],
    level: str,
    nodes: int | None,
    size: int,
) -> tuple[Candidate, ...]:
    """Return the best `size` of the locks, without the baseline: by their rank in the most pressing
    use case, then in the next, then by size, the smallest first."""
    known = [lock for lock in left if lock.name != BASELINE]
    # Locks that state nothing on a use case stay sorted by size.
    known.sort(key=lambda lock: (lock.bytes_per_mutex_outside, lock.bytes_per_node))
    ranked: dict[str, str] = {}
    for case in _cases(figures, set(fired), level, nodes):
        stated = [(lock, suits) for lock in known if (suits := lock.suitability(case))]
        for lock, suits in sorted(stated, key=lambda pair: pair[1].rank):
            ranked.setdefault(lock.name, suits.why)
    for lock in known:
        ranked.setdefault(
            lock.name, "satisfies the steps; nothing more is known of it for this use case"
        )
    return tuple(Candidate(name, why) for name, why in list(ranked.items())[:size])


def _cases(
    figures: ProfileFigures, fired: set[str], level: str, nodes: int | None
) -> Iterable[str]:
    """Yield the use cases, by their names in the registry, the most pressing first."""
    if figures.crowded:
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
    if level == "low" and _private(figures):
        yield "private mutexes"
    yield "low contention"


def _private(figures: ProfileFigures) -> bool:
    """Return whether most acquisitions are of mutexes that one thread uses at a time."""
    total = sum(mutex.acquisitions for mutex in figures.mutexes)
    private = sum(mutex.acquisitions for mutex in figures.mutexes if mutex.owner_changes < CHANGES)
    return total > 0 and private >= MOST * total
