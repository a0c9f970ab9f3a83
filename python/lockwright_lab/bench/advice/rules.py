"""The locks that the rules of the study of 64 processors name: `lockwright advise` before it
simulated the profile. Its advice is compared with them; docs/lab/advice.md explains them."""

from collections.abc import Iterator

from lockwright.advise import thresholds, traits
from lockwright.advise.bottlenecks import contention, diagnose
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.advise.steps import ask_questions
from lockwright.preload.locks import BASELINE, Lock, registry
from lockwright.profile.record import Profile

_CHANGES, _PRIVATE = 0.001, 0.9
"""Share of a mutex's acquisitions after another thread held it, below which it is private to one
thread; least share of private mutexes in all acquisitions of a program that has them."""


def former_names(profile: Profile) -> list[str]:
    """Return the locks that the rules name, the best first; none if no lock is expected to gain."""
    figures = ProfileFigures(profile)
    diagnoses = diagnose(figures)
    fired = [each.key for each in diagnoses if each.fired]
    if not _can_gain(figures, fired):
        return []
    usable = [
        lock
        for lock in registry()
        if not figures.realtime_threads or traits.serves_by_priority(lock)
    ]
    steps, _ = ask_questions(figures, diagnoses, usable, figures.nodes)
    left = [lock for lock in usable if lock.name in steps[-1].remaining and lock.name != BASELINE]
    left.sort(key=lambda lock: (lock.bytes_per_mutex_outside, lock.bytes_per_node))
    ranked = [name for case in _cases(figures, fired) for name in _of_case(left, case)]
    return list(dict.fromkeys([*ranked, *(lock.name for lock in left)]))


def _can_gain(figures: ProfileFigures, fired: list[str]) -> bool:
    is_lost = figures.lost_share >= thresholds.LOST
    is_busy = figures.busy_share is not None and figures.busy_share > thresholds.BUSY
    waits = figures.per_cpu_second(figures.contended) or 0.0
    if is_lost and (not is_busy or waits >= thresholds.SLEEPS):
        return True
    if fired == ["holder preemption"] and is_busy and waits < thresholds.RARE_WAITS:
        return False
    return "trylock" in fired or "uncontended" in fired or (bool(fired) and is_lost)


def _of_case(locks: list[Lock], case: str) -> list[str]:
    """Return the locks that are recommended for a use case of the registry, by their rank."""
    stated = [
        (each.rank, lock.name) for lock in locks for each in lock.use_cases if each.case == case
    ]
    return [name for _, name in sorted(stated, key=lambda pair: pair[0])]


def _cases(figures: ProfileFigures, fired: list[str]) -> Iterator[str]:
    """Yield the use cases, the most important first."""
    level = contention.level(figures)
    if figures.crowded:
        yield "crowded"
    if "trylock" in fired:
        yield "trylock loop"
    if "memory contention" in fired:
        yield "memory contention"
    if level == "extreme" and figures.nodes != 1:
        yield "extreme contention"
    if level != "low":
        yield from ("high contention", "extreme contention")
    elif _is_private(figures):
        yield "private mutexes"
    yield "low contention"


def _is_private(figures: ProfileFigures) -> bool:
    total = sum(mutex.acquisitions for mutex in figures.mutexes)
    private = sum(each.acquisitions for each in figures.mutexes if each.owner_changes < _CHANGES)
    return total > 0 and private >= _PRIVATE * total
