"""What is known of a program before its race, and which locks take part for that reason."""

from dataclasses import asdict, dataclass
from typing import Any

from lockwright.locks import Registry
from lockwright.tune import candidates
from lockwright.tune.candidates import Entrant

FACTS = "tune"
"""Key, among a comparison's facts, of all this."""


@dataclass(frozen=True)
class Entry:
    """sentence: what the advice says of the profile, or empty where there is none. sensitive:
    whether another lock can change much, as far as the profile tells."""

    entrants: tuple[Entrant, ...]
    sentence: str = ""
    sensitive: bool = True

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
        return cls(**{**kept, "entrants": tuple(Entrant(**each) for each in kept["entrants"])})


def by_family(known: Registry) -> Entry:
    """One lock of each family, where nothing is known of the program."""
    return Entry(candidates.advised((), known))
