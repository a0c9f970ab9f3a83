"""A lock with settings, which takes part in the races of a joint search under one name."""

from collections.abc import Mapping
from dataclasses import dataclass

from lockwright.preload.locks import BASELINE
from lockwright.run.settings import NONE, Settings


@dataclass(frozen=True)
class Arm:
    """A lock and the settings beside it."""

    lock: str = BASELINE
    settings: Settings = NONE

    @property
    def name(self) -> str:
        """The name in tables and records, as `futex+jemalloc+batch`."""
        return "+".join((self.lock, *self.settings.values.values()))

    @property
    def changes(self) -> int:
        """The number of changes from the program as it is."""
        return (self.lock != BASELINE) + len(self.settings.values)

    @property
    def alone(self) -> "Arm":
        """The lock without settings."""
        return Arm(self.lock)

    def under(self, lock: str) -> "Arm":
        """The settings with another lock."""
        return Arm(lock, self.settings)

    def with_setting(self, dimension: str, value: str) -> "Arm":
        """The arm with another value of a dimension; "" leaves the program as it is."""
        return Arm(self.lock, self.settings.changed(**{dimension: value}))

    def only(self, dimension: str) -> "Arm":
        """The lock with the arm's value of one dimension alone."""
        return Arm(self.lock, NONE.changed(**{dimension: self.settings.values[dimension]}))

    def as_facts(self) -> dict[str, str]:
        """Return the lock and the settings as strings by name."""
        return {"lock": self.lock, **self.settings.values}

    @classmethod
    def from_facts(cls, facts: Mapping[str, str]) -> "Arm":
        """Return the arm of `as_facts`."""
        values = dict(facts)
        return cls(values.pop("lock"), Settings(**values))
