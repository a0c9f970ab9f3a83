"""A lock for each of the mutexes that cost a program most, and a light one for the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import read
from lockwright.preload.locks import BASELINE, Registry
from lockwright.profile.record import Profile

_MOST = 3
"""Mutexes that get a lock of their own."""

_LEAST = 0.1
"""Share of the time lost from which a mutex is one of them."""

_LOCKS = 4
"""Locks that are tried for each."""


def costly_mutexes(profile: Profile) -> tuple[int, ...]:
    """The ranks, from 1, of the mutexes that most of the time is lost at."""
    ranks = [
        rank
        for rank, mutex in enumerate(profile.mutexes, 1)
        if mutex.lost > 0 and mutex.lost >= _LEAST * profile.lost and mutex.place.frame.module
    ]
    return tuple(ranks[:_MOST])


def for_the_rest(known: Registry) -> str:
    """What all other mutexes get: the smallest light lock whose waiters park."""
    fitting = [lock for lock in known if lock.light and lock.parking and lock.name != BASELINE]
    sizes = {
        lock.name: (lock.bytes_per_mutex_outside, lock.bytes_per_node, lock.bytes_in_place)
        for lock in fitting
    }
    return min(sizes, key=sizes.__getitem__, default=BASELINE)


@dataclass(frozen=True)
class Layout:
    """Which mutex has which lock: by rank, and all others."""

    locks: Mapping[int, str]
    rest: str

    def text(self, profile: Path) -> str:
        """The plan's file. profile: that the ranks are of."""
        parts = [f'lock = "{self.rest}"\n']
        parts += [
            f'\n[[mutex]]\nprofile = "{profile}"\nrank = {rank}\nlock = "{lock}"\n'
            for rank, lock in sorted(self.locks.items())
        ]
        return "".join(parts)

    @property
    def shown(self) -> str:
        """In a few words."""
        each = ", ".join(f"{lock} at rank {rank}" for rank, lock in sorted(self.locks.items()))
        return f"{each}, {self.rest} elsewhere"


def variables(
    layout: Layout, profile: Path, program: Path, known: Registry, file: Path
) -> dict[str, str]:
    """What the mixed library is told of a layout. file: where the plan is put to be read.

    Raises LockwrightError if the mutexes cannot be named.
    """
    file.write_text(layout.text(profile), encoding="utf-8")
    return {VARIABLE: compile_for(read(file, known), program).text}


Try = Callable[[Mapping[str, Layout]], str | None]
"""Runs plans by their names beside the best single lock, and tells which was best; None if none was
better than that lock."""


def search(
    ranks: Sequence[int], single: str, rest: str, shortlist: Sequence[str], attempt: Try
) -> Layout | None:
    """Greedily: all hot mutexes get the best single lock; then each in turn, the worst first, tries
    the locks of the shortlist. None if nothing is better than the single lock.

    rest: the lock of all other mutexes.
    """
    best = Layout(dict.fromkeys(ranks, rest if single == BASELINE else single), rest)
    won = False
    for rank in ranks:
        own = best.locks[rank]
        others = [lock for lock in dict.fromkeys((*shortlist, rest)) if lock not in (own, BASELINE)]
        layouts = {
            f"plan-{rank}-{lock}": Layout({**best.locks, rank: lock}, rest)
            for lock in (own, *others[: _LOCKS - 1])
            if {*{**best.locks, rank: lock}.values()} != {rest}  # else it is no plan, but one lock
        }
        name = attempt(layouts)
        if name is not None and name in layouts:
            best, won = layouts[name], True
    return best if won else None
