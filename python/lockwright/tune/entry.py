"""What is known of a program before its race, and which locks take part for that reason."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from lockwright.preload.locks import Registry
from lockwright.profile.record import Profile
from lockwright.tune import candidates
from lockwright.tune.candidates import Entrant

FACTS = "tune"
"""Key, among a comparison's facts, of all this."""


@dataclass(frozen=True)
class Entry:
    """sentence: what the advice says of the profile, or empty where there is none. sensitive:
    whether another lock can change much, as far as the profile tells. changes: what to change in
    the program instead. reserves: locks that join if one of their family leads.
    """

    entrants: tuple[Entrant, ...]
    sentence: str = ""
    sensitive: bool = True
    changes: tuple[str, ...] = ()
    reserves: tuple[str, ...] = ()

    @property
    def locks(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(each.lock for each in self.entrants)

    def as_facts(self) -> dict[str, Any]:
        """What is kept with the results."""
        return {FACTS: asdict(self)}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Entry":
        """What `as_facts` gave."""
        kept = dict(facts[FACTS])
        kept["entrants"] = tuple(Entrant(**each) for each in kept["entrants"])
        for name in ("changes", "reserves"):
            kept[name] = tuple(kept.get(name, ()))
        return cls(**kept)


def by_profile(profile: Profile, known: Registry) -> Entry:
    """The locks that the advice on a profile names, and one of each family that it has none of; of
    a program that mutexes cost next to nothing, a few that differ."""
    from lockwright.advise import advise

    advice = advise(profile, registry=known)
    shortlist = [(each.lock, each.reason) for each in advice.shortlist]
    entrants = (
        candidates.advised(shortlist, known)
        if advice.shortlist
        else candidates.advised((), known, candidates.DIVERSE)
    )
    changes = tuple(each.text for each in advice.changes)
    entry = Entry(entrants, advice.sentence, bool(advice.shortlist), changes)
    return (
        replace(entry, reserves=candidates.relatives(entry.locks, known))
        if entry.sensitive
        else entry
    )


def by_family(known: Registry) -> Entry:
    """One lock of each family, where nothing is known of the program."""
    entry = Entry(candidates.advised((), known))
    return replace(entry, reserves=candidates.relatives(entry.locks, known))
