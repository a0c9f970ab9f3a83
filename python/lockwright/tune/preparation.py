"""The preparation of a race: the advice on the program, and the locks that take part."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lockwright.preload.locks import Registry
from lockwright.profile.record import Profile
from lockwright.tune import candidates
from lockwright.tune.candidates import Candidate

FACTS = "tune"
"""Key of the preparation among a comparison's facts."""


@dataclass(frozen=True)
class Preparation:
    """The locks of a race and the advice on them. sentence: of the advice, or empty without a
    profile. sensitive: whether another lock can change much, by the profile. changes: to the
    program, as an alternative. reserves: locks that join if one of their family leads."""

    candidates: tuple[Candidate, ...]
    sentence: str = ""
    sensitive: bool = True
    changes: tuple[str, ...] = ()
    reserves: tuple[str, ...] = ()

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


def from_profile(profile: Profile, known: Registry) -> Preparation:
    """Return the locks of the advice on a profile, and one of each other family; for a program that
    is not lock-sensitive, a few locks of different families."""
    from lockwright.advise import advise

    advice = advise(profile, registry=known)
    shortlist = [(candidate.lock, candidate.reason) for candidate in advice.shortlist]
    sensitive = advice.lock_may_gain or bool(advice.rwlocks)
    most = None if advice.lock_may_gain else candidates.DIVERSE
    of_mutexes = candidates.advised_candidates(shortlist, known, most)
    of_rwlocks = candidates.rwlock_candidates(
        [(candidate.lock, candidate.reason) for candidate in advice.rwlocks], candidates.ADVISED
    )
    chosen = (*of_mutexes, *of_rwlocks) if profile.mutexes else of_rwlocks or of_mutexes
    changes = tuple(change.text for change in advice.changes)
    preparation = Preparation(chosen, advice.sentence, sensitive, changes)
    return _with_reserves(preparation, known) if sensitive else preparation


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
    names = [*preparation.locks, *(each.lock for each in settings)]
    return replace(
        preparation,
        candidates=(*preparation.candidates, *settings),
        reserves=(*preparation.reserves, *candidates.combinations(names)),
    )


def without_profile(known: Registry) -> Preparation:
    """Return one lock of each family, for a program without a profile."""
    return _with_reserves(Preparation(candidates.advised_candidates((), known)), known)


def _with_reserves(preparation: Preparation, known: Registry) -> Preparation:
    names = preparation.locks
    family = candidates.other_family_members(names, known)
    return replace(preparation, reserves=(*candidates.pairs(names), *family))
