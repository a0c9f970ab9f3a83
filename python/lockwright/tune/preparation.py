"""The preparation of a race: the advice on the program, and the locks that take part."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lockwright.preload.families import is_usable
from lockwright.preload.locks import BASELINE, Registry
from lockwright.preload.rwlocks import DEFAULT, KEEP, parts_of
from lockwright.profile.record import Profile
from lockwright.tune import candidates
from lockwright.tune.candidates import Candidate
from lockwright.tune.priors import Values
from lockwright.tune.search import expected_values

FACTS = "tune"
"""Key of the preparation among a comparison's facts."""


@dataclass(frozen=True)
class Preparation:
    """The locks of a race and the advice on them. sentence: of the advice, or empty without a
    profile. sensitive: whether another lock can change much, by the profile. changes: to the
    program, as an alternative. reserves: locks that join if the search chooses them or their parts
    lead. expected: the values that the search expects of its locks; empty if all take part."""

    candidates: tuple[Candidate, ...]
    sentence: str = ""
    sensitive: bool = True
    changes: tuple[str, ...] = ()
    reserves: tuple[str, ...] = ()
    expected: Mapping[str, float] = field(default_factory=dict)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The locks that do not take part from the beginning."""
        searched = [lock for lock in self.locks if lock in self.expected]
        return (*searched, *self.reserves)

    @property
    def locks(self) -> tuple[str, ...]:
        return tuple(candidate.lock for candidate in self.candidates)

    def as_facts(self) -> dict[str, Any]:
        return {FACTS: asdict(self)}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Preparation":
        values = dict(facts[FACTS])
        values["candidates"] = tuple(Candidate(**fields) for fields in values["candidates"])
        for name in ("changes", "reserves"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


def from_profile(profile: Profile, known: Registry, values: Sequence[Values]) -> Preparation:
    """Return the search of all locks, those of the advice on a profile first; for a program that
    is not lock-sensitive, a few locks of different families. values: of locks in other programs."""
    from lockwright.advise import advise
    from lockwright.advise.profile_figures import ProfileFigures

    advice = advise(profile, registry=known)
    shortlist = [(candidate.lock, candidate.reason) for candidate in advice.shortlist]
    sensitive = advice.lock_may_gain or bool(advice.rwlocks)
    most = None if advice.lock_may_gain else candidates.DIVERSE
    of_mutexes = candidates.advised_candidates(shortlist, known, most)
    of_rwlocks = candidates.rwlock_candidates(
        [(candidate.lock, candidate.reason) for candidate in advice.rwlocks], candidates.ADVISED
    )
    # DEFAULT may be named for both.
    both = {each.lock: each for each in of_rwlocks} | {each.lock: each for each in of_mutexes}
    in_order = dict.fromkeys(each.lock for each in (*of_mutexes, *of_rwlocks))
    chosen = tuple(map(both.__getitem__, in_order)) if profile.mutexes else of_rwlocks or of_mutexes
    changes = tuple(change.text for change in advice.changes)
    preparation = Preparation(chosen, advice.sentence, sensitive, changes)
    if shortlist and profile.mutexes:
        return _searched(preparation, known, values, ProfileFigures(profile).crowded)
    default = [lock.name for lock in known if lock.is_default and is_usable(lock.name, known)]
    pairs = candidates.pairs((*default, *preparation.locks)) if profile.mutexes else ()
    return replace(preparation, reserves=pairs)


def named(locks: tuple[str, ...], rwlocks: tuple[str, ...]) -> Preparation:
    """Return the locks and the reader-writer locks that the user named; pairs of both join if they
    lead."""
    chosen = (
        *candidates.named_candidates(locks),
        *candidates.rwlock_candidates(
            ((rwlock, "named by --rwlocks") for rwlock in rwlocks), candidates.NAMED
        ),
    )
    preparation = Preparation(chosen)
    return replace(preparation, reserves=candidates.pairs(preparation.locks))


def with_settings(preparation: Preparation, values: Mapping[str, Sequence[str]]) -> Preparation:
    """Return the preparation with settings of the program to try, and the combinations of locks and
    settings as reserves. values: by dimension."""
    settings = candidates.setting_candidates(values)
    names = [*preparation.expected, *preparation.locks, *(each.lock for each in settings)]
    return replace(
        preparation,
        candidates=(*preparation.candidates, *settings),
        reserves=(*preparation.reserves, *candidates.combinations(tuple(dict.fromkeys(names)))),
    )


def without_profile(known: Registry, values: Sequence[Values]) -> Preparation:
    """Return the search of all locks, for a program without a profile. values: of locks in other
    programs."""
    return _searched(Preparation(candidates.advised_candidates((), known)), known, values, False)


def _searched(
    preparation: Preparation, known: Registry, values: Sequence[Values], crowded: bool
) -> Preparation:
    """Return the preparation with a search of all locks. crowded: whether threads lack
    processors."""
    own = [lock for lock in preparation.locks if lock == DEFAULT or parts_of(lock)[1] == KEEP]
    others = candidates.other_locks(own, known)
    advised = [each.lock for each in preparation.candidates if each.why == candidates.ADVISED]
    fragile = [lock.name for lock in known if crowded and not lock.survives_oversubscription]
    return replace(
        preparation,
        reserves=(*others, *candidates.pairs((*preparation.locks, *others))),
        expected=expected_values(values, (BASELINE, *own, *others), advised, fragile),
    )
