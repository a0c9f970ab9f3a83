"""What a prediction begins with: the models of a profile, and the machine."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from lockwright.calibrate import machine_file
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.predict import profiled_machine, simulations
from lockwright.predict.derive import check, derive
from lockwright.predict.fit import fit, unfitted
from lockwright.predict.show import Header
from lockwright.predict.simulations import Outcomes, Point
from lockwright.profile import record
from lockwright.simulate import progress
from lockwright.simulate.run import Job

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Request:
    """The options of all predictions. profile: the file; machine_name: a machine, its file, or
    HERE; runs: seeds of each simulation; seconds: simulated, None to derive them from the model;
    timeout: seconds of each simulation."""

    profile: Path
    machine_name: str
    runs: int
    seconds: float | None
    seed: int
    timeout: float

    def header(self) -> Header:
        """Return the models of the profile, and the machine. They are compared with the profile if
        that is from this machine and this machine is described. Raises LockwrightError for an
        insufficient profile, and for an unknown machine."""
        profile = record.read(self.profile)
        check(profile)
        machine = load_machine(self.machine_name, self.timeout)
        own = None
        if profiled_machine.is_this(profile) and machine_file.default_path().exists():
            own = profiled_machine.with_wakes(profile, load_machine(HERE, self.timeout))
            if self.machine_name == HERE:
                machine = own
        derived = derive(profile, own)
        found = None
        if own is None:
            derived = unfitted(derived)
        else:
            shown = partial(progress.simulations, what="simulations of the profile")
            fitted = fit(derived, own, self.runs, self.seed, self.timeout, progress=shown)
            derived, found = fitted.derived, fitted.agreement
        program = Path(profile.command[0]).name if profile.command else "a program"
        return Header(program, machine, derived, found)

    def points(self, header: Header) -> list[Point]:
        """Return the points of the prediction."""
        return simulations.points(header.derived.variants, header.machine, self.runs, self.seed)

    def simulate(
        self, jobs: Mapping[_Key, Job], group: Callable[[_Key], Hashable]
    ) -> Outcomes[_Key]:
        """Run the simulations with a progress display. group: as in simulations.simulate()."""
        return simulations.simulate(jobs, self.timeout, progress.simulations, group)
