"""What a prediction begins with: the models of a profile, and the machine."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from lockwright.calibrate import machine_file
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.predict import profiled_machine, simulations
from lockwright.predict.derive import check, derive
from lockwright.predict.fit import fit, unfitted
from lockwright.predict.header import Header
from lockwright.predict.simulations import STEPS, Outcomes, Point, Settings
from lockwright.profile import record
from lockwright.profile.record import Profile
from lockwright.simulate import progress
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Job

_Key = TypeVar("_Key", bound=Hashable)


def prepare(profile: Profile, machine: Machine, own: Machine | None, settings: Settings) -> Header:
    """Return the models of a profile for a machine. own: the machine of the profile, on which the
    models are compared with it, or None if it is not described; it may be the same. Raises
    LockwrightError for an insufficient profile."""
    program = Path(profile.command[0]).name if profile.command else "a program"
    if own is None:
        derived = unfitted(derive(profile, None, needs_waiting=False))
        return Header(program, machine, derived, None, profile.process)
    profiled = profiled_machine.with_wakes(profile, own)
    derived = derive(profile, profiled, needs_waiting=False)
    fitted = fit(
        derived,
        profiled,
        settings.runs,
        settings.seed,
        settings.timeout,
        settings.steps,
        settings.progress,
    )
    machine = fitted.machine if machine is own else machine
    return Header(program, machine, fitted.derived, fitted.agreement, profile.process)


@dataclass(frozen=True)
class Request:
    """The options of all predictions. profile: the file; machine_name: a machine, its file, or
    HERE; runs: seeds of each simulation; seconds: simulated, None to derive them from the model and
    `steps`; timeout: seconds of each simulation."""

    profile: Path
    machine_name: str
    runs: int
    seconds: float | None
    seed: int
    timeout: float
    steps: int = STEPS

    @property
    def settings(self) -> Settings:
        return Settings(
            self.runs, self.seed, self.seconds, self.steps, self.timeout, progress.simulations
        )

    def header(self) -> Header:
        """Return the models of the profile, and the machine. They are compared with the profile if
        that is from this machine and this machine is described. Raises LockwrightError for an
        insufficient profile, and for an unknown machine."""
        profile = record.read(self.profile)
        check(profile)
        machine = load_machine(self.machine_name, self.timeout)
        own = None
        if profiled_machine.is_this(profile) and machine_file.default_path().exists():
            is_here = self.machine_name == HERE
            own = machine if is_here else load_machine(HERE, self.timeout)
        shown = partial(progress.simulations, what="simulations of the profile")
        return prepare(profile, machine, own, replace(self.settings, progress=shown))

    def points(self, header: Header) -> list[Point]:
        """Return the points of the prediction."""
        return simulations.points(header.derived.variants, header.machine, self.runs, self.seed)

    def simulate(
        self, jobs: Mapping[_Key, Job], group: Callable[[_Key], Hashable]
    ) -> Outcomes[_Key]:
        """Run the simulations with a progress display. group: as in simulations.simulate()."""
        return simulations.simulate(jobs, self.timeout, progress.simulations, group)
