"""The records of runs and of probes, the first runs of settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockwright.run import record

from lockwright_lab.study.campaign.plan import Configuration
from lockwright_lab.study.program.trial import LEFT_OUT, Result


@dataclass(frozen=True)
class Slot:
    """One run to make. round: counted ones from 1, warm-up ones below 1."""

    configuration: Configuration
    round: int


@dataclass(frozen=True)
class RunRecord:
    """A run that was made, or the reason why it is left out. machine: '' if the reason applies to
    all; started: ISO 8601, UTC."""

    slot: Slot
    machine: str
    started: str
    result: Result

    @property
    def finished(self) -> bool:
        """True if its value counts, unless it is a warm-up run."""
        return self.result.outcome == record.FINISHED

    @property
    def final(self) -> bool:
        """True if its configuration is left out."""
        return self.result.outcome == LEFT_OUT


@dataclass(frozen=True)
class Probe:
    """The first run of a setting on a machine, under the counting baseline. setting: a
    configuration without a lock; problem: why it cannot be run there, or empty; counts: of the
    program's lock operations, some of them lists; sums: of the outputs that must be the same under
    every lock; version: of the program."""

    machine: str
    setting: Configuration
    problem: str
    elapsed: float = 0.0
    counts: Mapping[str, Any] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
