"""The roles of a profile's threads: which threads take the same mutexes equally often."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lockwright.profile.record import USER_NUMBERS, Mutex, ThreadUse

_RARELY = 0.02
"""Share of the acquisitions of the thread with the most below which a thread has no role, as one
that starts the others."""

_ALIKE = 0.5
"""Least share of common mutexes in all mutexes of two threads of one role."""

_FACTOR = 3.0
"""Largest ratio between the acquisitions per second of two threads of one role."""

_MOST = 16
"""So many roles at most; threads that differ more are taken as one."""

_ROUNDS = 50
"""Rounds of the fitting of roles to mutexes."""


@dataclass
class ThreadGroup:
    """Threads of one role. mutexes: indices of those that any of them takes."""

    threads: list[ThreadUse]
    mutexes: set[int] = field(default_factory=set)

    @property
    def acquisitions(self) -> float:
        return sum(thread.acquisitions for thread in self.threads)

    @property
    def contended(self) -> int:
        return sum(thread.contended for thread in self.threads)

    @property
    def active(self) -> float:
        """Their time from the first acquisition to the last, in ns."""
        return sum(thread.active for thread in self.threads)

    @property
    def name(self) -> str:
        names = {thread.name for thread in self.threads if thread.name}
        return names.pop() if len(names) == 1 else ""


def groups(
    threads: Sequence[ThreadUse], mutexes: Sequence[Mutex]
) -> tuple[list[ThreadGroup], bool]:
    """Return the roles, those with most acquisitions first, and whether the threads differ too much
    to tell roles apart. mutexes: those that tell them apart."""
    most = max((thread.acquisitions for thread in threads), default=0.0)
    users = [thread for thread in threads if thread.acquisitions >= _RARELY * most > 0]
    found: list[ThreadGroup] = []
    for thread in sorted(users, key=lambda each: -each.acquisitions):
        taken = _taken(thread, mutexes)
        for group in found:
            if _is_alike(group.mutexes, taken) and _rate(group.threads[0]) <= _FACTOR * _rate(
                thread
            ):
                group.threads.append(thread)
                group.mutexes |= taken
                break
        else:
            found.append(ThreadGroup([thread], taken))
    if len(found) <= _MOST:
        return found, False
    all_taken = set().union(*(group.mutexes for group in found))
    return [ThreadGroup(users, all_taken)], True


def _taken(thread: ThreadUse, mutexes: Sequence[Mutex]) -> set[int]:
    number = thread.number % USER_NUMBERS
    return {index for index, mutex in enumerate(mutexes) if number in mutex.users}


def _is_alike(some: set[int], others: set[int]) -> bool:
    both = some | others
    return not both or len(some & others) >= _ALIKE * len(both)


def _rate(thread: ThreadUse) -> float:
    return thread.acquisitions / max(1.0, thread.active)


def acquisitions_by_role(
    roles: Sequence[ThreadGroup], mutexes: Sequence[Mutex]
) -> list[list[float]]:
    """Return the acquisitions of each mutex by each role. The profile has those of each thread and
    of each mutex, and which threads take which mutex; iterative proportional fitting (Deming and
    Stephan, 1940) gives the most even division with these sums."""
    table = [
        [
            mutex.acquisitions if index in role.mutexes else 0.0
            for index, mutex in enumerate(mutexes)
        ]
        for role in roles
    ]
    kept = sum(mutex.acquisitions for mutex in mutexes)
    total = sum(role.acquisitions for role in roles)
    for _ in range(_ROUNDS):
        for row, role in zip(table, roles, strict=True):
            _scale(row, role.acquisitions * min(1.0, kept / max(1.0, total)))
        for index, mutex in enumerate(mutexes):
            column = [row[index] for row in table]
            _scale(column, mutex.acquisitions)
            for row, value in zip(table, column, strict=True):
                row[index] = value
    return table


def _scale(values: list[float], total: float) -> None:
    present = sum(values)
    if present:
        values[:] = [value * total / present for value in values]
