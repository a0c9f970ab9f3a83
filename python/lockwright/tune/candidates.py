"""The locks of a race: those that the advice recommends, and others in case it is wrong."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lockwright.compare.arms import arm_name, number_of_settings, settings_of
from lockwright.preload.families import family_of, is_usable, representatives
from lockwright.preload.locks import BASELINE, DEFAULT_LOCK, Registry
from lockwright.preload.rwlocks import DEFAULT, KEEP, pair_name, parts_of
from lockwright.run.settings import Settings
from lockwright.tune.choices import is_possible

NAMED, ADVISED, FAMILY, SETTING = "named", "advised", "family", "setting"
"""Reasons why a lock takes part: the user or the advice named it, it represents its family, or it
is the C library's mutex with a setting of the program."""

DIVERSE = 3
"""Number of families whose races show that a program is not lock-sensitive."""


@dataclass(frozen=True)
class Candidate:
    """A lock of a race. why: NAMED, ADVISED or FAMILY; reason: the text for it."""

    lock: str
    why: str
    reason: str


def named_candidates(locks: Iterable[str]) -> tuple[Candidate, ...]:
    """Return the locks that the user named, as candidates."""
    return tuple(Candidate(lock, NAMED, "named by --locks") for lock in locks if lock != BASELINE)


def rwlock_candidates(shortlist: Iterable[tuple[str, str]], why: str) -> tuple[Candidate, ...]:
    """Return the C library's mutex together with each reader-writer lock of a shortlist of names
    and reasons, and DEFAULT if that has it."""
    return tuple(
        Candidate(rwlock if rwlock == DEFAULT else pair_name(BASELINE, rwlock), why, reason)
        for rwlock, reason in shortlist
        if rwlock != KEEP
    )


def pairs(names: Iterable[str]) -> tuple[str, ...]:
    """Return each other lock of the candidates together with each of their reader-writer locks;
    that of DEFAULT is in none."""
    parts = [(DEFAULT_LOCK, KEEP) if name == DEFAULT else parts_of(name) for name in names]
    locks = dict.fromkeys(lock for lock, _ in parts if lock != BASELINE)
    rwlocks = dict.fromkeys(rwlock for _, rwlock in parts if rwlock != KEEP)
    return tuple(pair_name(lock, rwlock) for lock in locks for rwlock in rwlocks)


def setting_candidates(values: Mapping[str, Sequence[str]]) -> tuple[Candidate, ...]:
    """Return the C library's mutex with each setting. values: to try, by dimension."""
    return tuple(
        Candidate(arm_name(BASELINE, settings), SETTING, f"{dimension} {value} alone")
        for dimension, each in values.items()
        for value in each
        if (settings := Settings(**{dimension: value}))
    )


def combinations(names: Sequence[str]) -> tuple[str, ...]:
    """Return each lock of the names together with each of their settings, and the C library's mutex
    with two settings of different dimensions."""
    settings = [settings_of(name) for name in names if number_of_settings(name)]
    locks = [name for name in names if not number_of_settings(name) and name != BASELINE]
    two = [
        first.changed(**second.values)
        for index, first in enumerate(settings)
        for second in settings[index + 1 :]
        if not first.values.keys() & second.values.keys()
    ]
    of_locks = [arm_name(lock, each) for lock in locks for each in settings]
    return (*of_locks, *(arm_name(BASELINE, each) for each in two if is_possible(each)))


def advised_candidates(
    shortlist: Sequence[tuple[str, str]], registry: Registry, most: int | None = None
) -> tuple[Candidate, ...]:
    """Return the locks of a shortlist, with reasons, and one lock of each family without one there.
    most: the largest number of these others."""
    advised = [
        Candidate(lock, ADVISED, reason)
        for lock, reason in shortlist
        if lock != BASELINE and is_usable(parts_of(lock)[0], registry)
    ]
    families = {family_of(registry.find(parts_of(each.lock)[0])) for each in advised}
    others = []
    for lock in representatives(lock for lock in registry if is_usable(lock.name, registry)):
        if family_of(lock) not in families:
            doubt = "in case the advice is wrong: " if advised else ""
            description = family_of(lock).description
            others.append(
                Candidate(lock.name, FAMILY, f"{doubt}stands for its family: {description}")
            )
    return (*advised, *others[:most])


def other_locks(locks: Iterable[str], registry: Registry) -> tuple[str, ...]:
    """Return all other locks that can be used. DEFAULT stands for its lock."""
    chosen = {BASELINE, *(parts_of(lock)[0] for lock in locks)}
    return tuple(
        name for name in registry.names if name not in chosen and is_usable(name, registry)
    )
