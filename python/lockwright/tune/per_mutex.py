"""A lock for each of the mutexes that cost a program most, and a light one for the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import read
from lockwright.preload.locks import BASELINE, Registry
from lockwright.profile.record import Profile

REST = "futex"
"""What all other mutexes get: four bytes, one instruction to let go, and waiters sleep."""

_MOST = 3
"""Mutexes that get a lock of their own."""

_LEAST = 0.1
"""Share of the time lost from which a mutex is one of them."""

_LOCKS = 4
"""Locks that are tried for each."""


def hot(profile: Profile) -> tuple[int, ...]:
    """The ranks, from 1, of the mutexes that most of the time is lost at."""
    ranks = [
        rank
        for rank, mutex in enumerate(profile.mutexes, 1)
        if mutex.lost > 0 and mutex.lost >= _LEAST * profile.lost and mutex.place.frame.module
    ]
    return tuple(ranks[:_MOST])


@dataclass(frozen=True)
class Layout:
    """Which mutex has which lock: by rank; the rest have REST."""

    locks: Mapping[int, str]

    def text(self, profile: Path) -> str:
        """The plan's file. profile: that the ranks are of."""
        parts = [f'lock = "{REST}"\n']
        parts += [
            f'\n[[mutex]]\nprofile = "{profile}"\nrank = {rank}\nlock = "{lock}"\n'
            for rank, lock in sorted(self.locks.items())
        ]
        return "".join(parts)

    @property
    def shown(self) -> str:
        """In a few words."""
        each = ", ".join(f"{lock} at rank {rank}" for rank, lock in sorted(self.locks.items()))
        return f"{each}, {REST} elsewhere"


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
    ranks: Sequence[int], single: str, shortlist: Sequence[str], attempt: Try
) -> Layout | None:
    """Greedily: all hot mutexes get the best single lock; then each in turn, the worst first, tries
    the locks of the shortlist. None if nothing is better than the single lock."""
    best = Layout(dict.fromkeys(ranks, REST if single == BASELINE else single))
    won = False
    for rank in ranks:
        own = best.locks[rank]
        others = [lock for lock in dict.fromkeys((*shortlist, REST)) if lock not in (own, BASELINE)]
        layouts = {
            f"plan-{rank}-{lock}": Layout({**best.locks, rank: lock})
            for lock in (own, *others[: _LOCKS - 1])
            if {*{**best.locks, rank: lock}.values()} != {REST}  # else it is no plan, but one lock
        }
        name = attempt(layouts)
        if name is not None and name in layouts:
            best, won = layouts[name], True
    return best if won else None
