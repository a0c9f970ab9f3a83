"""The preparation of a race: the advice on the program, and the locks that take part."""

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
    """The locks of a race and the advice behind them.

    sentence: of the advice, or empty without a profile. sensitive: whether another lock can change
    much, by the profile. changes: to the program, as an alternative. reserves: locks that join if
    one of their family leads.
    """

    candidates: tuple[Candidate, ...]
    sentence: str = ""
    sensitive: bool = True
    changes: tuple[str, ...] = ()
    reserves: tuple[str, ...] = ()

    @property
    def locks(self) -> tuple[str, ...]:
        """The names of the candidates."""
        return tuple(each.lock for each in self.candidates)

    def as_facts(self) -> dict[str, Any]:
        """Return the facts that are stored with the results."""
        return {FACTS: asdict(self)}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Preparation":
        """Return the preparation from the facts of `as_facts`."""
        values = dict(facts[FACTS])
        values["candidates"] = tuple(Candidate(**each) for each in values["candidates"])
        for name in ("changes", "reserves"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


def from_profile(profile: Profile, known: Registry) -> Preparation:
    """Return the locks that the advice on a profile names, and one of each other family; for a
    program that mutexes cost next to nothing, a few locks of different families."""
    from lockwright.advise import advise

    advice = advise(profile, registry=known)
    shortlist = [(each.lock, each.reason) for each in advice.shortlist]
    chosen = (
        candidates.advised_candidates(shortlist, known)
        if advice.shortlist
        else candidates.advised_candidates((), known, candidates.DIVERSE)
    )
    changes = tuple(each.text for each in advice.changes)
    preparation = Preparation(chosen, advice.sentence, bool(advice.shortlist), changes)
    return (
        replace(preparation, reserves=candidates.other_family_members(preparation.locks, known))
        if preparation.sensitive
        else preparation
    )


def without_profile(known: Registry) -> Preparation:
    """Return one lock of each family, for a program without a profile."""
    preparation = Preparation(candidates.advised_candidates((), known))
    return replace(preparation, reserves=candidates.other_family_members(preparation.locks, known))
