"""What all forms of a prediction state: the models, how well they fit the profile, and the
conditions that it was taken in."""

from dataclasses import dataclass

from lockwright.advise.steps import lacking_text
from lockwright.advise.thresholds import LOST
from lockwright.predict.derive import Derived
from lockwright.predict.estimate import Estimate, ranged
from lockwright.profile.record import Process
from lockwright.simulate.machine import Machine

AGREEMENT = 0.1
"""Deviation of the simulated from the profiled rate from which a prediction carries a warning."""

MISFIT = 1.5
"""Factor between the simulated and the profiled rate beyond which a model names no locks."""

_MOST_PRESSURE = 4.0
"""Largest factor of the threads that stands for lacking processors."""


@dataclass(frozen=True)
class Header:
    """What all forms of a prediction begin with. agreement: the simulated rate of the profile
    itself, divided by the profiled one; None if its machine is not described. process: of the
    profile."""

    program: str
    machine: Machine
    derived: Derived
    agreement: Estimate | None
    process: Process

    @property
    def title(self) -> str:
        return f"Predicted, not measured: {self.program} on {self.machine.title}"

    @property
    def threads(self) -> int:
        """The threads that are simulated for those of the profile."""
        return self.crowded(self.derived.model.threads)

    def crowded(self, threads: int, factor: float = 1.0) -> int:
        """Return how many threads are simulated for `factor` times so many threads of the program:
        more if those of the profile lacked processors."""
        pressure = min(_MOST_PRESSURE, self.process.pressure)
        return self.derived.model.with_threads(threads).times_the_threads(pressure * factor)

    @property
    def misfit(self) -> str:
        """Why the model names no locks; empty if it fits the profile, or if next to no time is lost
        waiting: what locks differ in is then the time of their calls, which no fit changes."""
        found = self.agreement
        if found is None or _fits(found) or self.derived.lost_share < LOST:
            return ""
        return (
            "no lock is named, because the model of the program does not fit: its simulated rate is"
            f" {ranged(found)} of the profiled one"
        )

    @property
    def notes(self) -> list[str]:
        """Lines on the agreement with the profile, on its conditions, and on what the model
        lacks."""
        return [
            *_agreement(self.agreement),
            *self._lacking,
            *(f"Unknown: {x}." for x in self.derived.model.unknown),
        ]

    @property
    def warnings(self) -> list[str]:
        """Those of the notes that are reasons to doubt the figures."""
        return [*([] if self._agrees else _agreement(self.agreement)), *self._lacking]

    @property
    def _agrees(self) -> bool:
        return self.agreement is not None and abs(self.agreement.value - 1) <= AGREEMENT

    @property
    def _lacking(self) -> list[str]:
        if not (lacking := lacking_text(self.process)):
            return []
        return [
            f"It ran on {self.process.processors} processors{lacking};"
            f" {self.derived.model.threads} threads are simulated as {self.threads}."
        ]


def _agreement(found: Estimate | None) -> list[str]:
    if found is None:
        return [
            "The model was not compared with the profile: that is from another machine, or this "
            "one is not described ('lockwright calibrate --machine-file here' does it)."
        ]
    text = f"The simulated rate of the profile itself is {ranged(found)} of the profiled one"
    if abs(found.value - 1) <= AGREEMENT:
        return [f"{text}."]
    if _fits(found):
        return [f"{text}: the model is wrong by more than a tenth, so expect as much here."]
    return [f"{text}: the model does not fit the profile, so rely on none of these figures."]


def _fits(found: Estimate) -> bool:
    return 1 / MISFIT <= found.value <= MISFIT
