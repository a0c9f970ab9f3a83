"""Traits that distinguish the locks to use from the locks to avoid."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import Lock, registry

_TRAITS: dict[str, Callable[[Lock], bool]] = {
    "serve their waiters in FIFO order": lambda lock: lock.fifo,
    "park their waiters": lambda lock: lock.parking,
    "never park their waiters": lambda lock: not lock.parking,
    "prefer waiters of the same NUMA node": lambda lock: lock.numa_aware,
    "are light (one atomic operation for an uncontended acquisition)": lambda lock: lock.light,
    "restrict how many threads compete": lambda lock: lock.category == "load control",
}

_FEWEST, _APART = 2, 0.5
"""Smallest number of locks in a group, and least difference between the shares of two groups."""


@cache
def installed_locks() -> dict[str, Lock]:
    """Return the installed locks; none if they cannot be read, as a report needs no library."""
    try:
        return {lock.name: lock for lock in registry()}
    except LockwrightError:
        return {}


def differing_traits(good: Sequence[str], bad: Sequence[str]) -> Iterator[str]:
    """Yield the traits in which the two groups differ most; nothing for small groups."""
    groups = [
        [installed_locks()[name] for name in group if name in installed_locks()]
        for group in (good, bad)
    ]
    if min(map(len, groups)) < _FEWEST:
        return
    differences = []
    for words, has in _TRAITS.items():
        numbers = [sum(map(has, group)) for group in groups]
        shares = [number / len(group) for number, group in zip(numbers, groups, strict=True)]
        if abs(shares[0] - shares[1]) >= _APART:
            differences.append((abs(shares[0] - shares[1]), words, numbers))
    for _, words, numbers in sorted(differences, key=lambda row: -row[0])[:3]:
        yield (
            f"{numbers[1]} of the {len(groups[1])} locks to avoid {words}, and {numbers[0]} of the"
            f" {len(groups[0])} to use."
        )
