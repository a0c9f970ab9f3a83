"""The search for a plan: a lock for each of the most costly mutexes, a light one for the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import read
from lockwright.preload.locks import BASELINE, Registry
from lockwright.profile.record import Profile

_MOST = 3
"""Largest number of mutexes that get their own lock."""

_LEAST = 0.1
"""Smallest share of the time lost of such a mutex."""

_LOCKS = 4
"""Number of locks that are tried for each of them."""


def costly_mutexes(profile: Profile) -> tuple[int, ...]:
    """Return the ranks, from 1, of the mutexes at which most of the time is lost."""
    ranks = [
        rank
        for rank, mutex in enumerate(profile.mutexes, 1)
        if mutex.lost > 0 and mutex.lost >= _LEAST * profile.lost and mutex.place.frame.module
    ]
    return tuple(ranks[:_MOST])


def lock_of_other_mutexes(known: Registry) -> str:
    """Return the lock of all other mutexes: the smallest light lock whose waiters park."""
    light = [lock for lock in known if lock.light and lock.parking and lock.name != BASELINE]
    sizes = {
        lock.name: (lock.bytes_per_mutex_outside, lock.bytes_per_node, lock.bytes_in_place)
        for lock in light
    }
    return min(sizes, key=sizes.__getitem__, default=BASELINE)


@dataclass(frozen=True)
class Layout:
    """An assignment of locks to mutexes. locks: by rank of the mutex; rest: of all others."""

    locks: Mapping[int, str]
    rest: str

    def text(self, profile: Path) -> str:
        """Return the text of the plan's file. profile: the file that the ranks refer to."""
        parts = [f'lock = "{self.rest}"\n']
        parts += [
            f'\n[[mutex]]\nprofile = "{profile}"\nrank = {rank}\nlock = "{lock}"\n'
            for rank, lock in sorted(self.locks.items())
        ]
        return "".join(parts)

    @property
    def summary(self) -> str:
        chosen = ", ".join(f"{lock} at rank {rank}" for rank, lock in sorted(self.locks.items()))
        return f"{chosen}, {self.rest} elsewhere"


def plan_variables(
    layout: Layout, profile: Path, program: Path, known: Registry, file: Path
) -> dict[str, str]:
    """Return the environment variables that give the mixed library a layout, which is first written
    to `file`. Raises LockwrightError if the mutexes cannot be named."""
    file.write_text(layout.text(profile), encoding="utf-8")
    return {VARIABLE: compile_for(read(file, known), program).text}


Attempt = Callable[[Mapping[str, Layout]], str | None]
"""A function that races plans against the best single lock, and returns the name of the best plan;
None if none was better than that lock."""


def search_layout(
    ranks: Sequence[int], single: str, rest: str, shortlist: Sequence[str], attempt: Attempt
) -> Layout | None:
    """Return the best layout by a greedy search, or None if none beats the single lock. All costly
    mutexes get the best single lock; then the locks of the shortlist are tried for each mutex, the
    most costly first. rest: the lock of all other mutexes."""
    best = Layout(dict.fromkeys(ranks, rest if single == BASELINE else single), rest)
    won = False
    for rank in ranks:
        current = best.locks[rank]
        others = [
            lock for lock in dict.fromkeys((*shortlist, rest)) if lock not in (current, BASELINE)
        ]
        layouts = {
            f"plan-{rank}-{lock}": Layout({**best.locks, rank: lock}, rest)
            for lock in (current, *others[: _LOCKS - 1])
            if {*{**best.locks, rank: lock}.values()} != {rest}  # otherwise it is a single lock
        }
        name = attempt(layouts)
        if name is not None and name in layouts:
            best, won = layouts[name], True
    return best if won else None
