"""One simulation as the run of an experiment."""

import time
from collections.abc import Callable
from dataclasses import replace

from lockwright.experiment import FAILED, Outcome
from lockwright.simulate.run import Job, Line, run_jobs


def simulated(job: Job, timeout: float, outcome_of: Callable[[Line], Outcome]) -> Outcome:
    """Make a simulation, and return its outcome. timeout: in seconds; outcome_of: of its line."""
    made: list[Outcome] = []
    began = time.monotonic()

    def store(_: Job, line: Line | None, failure: str) -> None:
        made.append(Outcome(FAILED, note=failure) if line is None else outcome_of(line))

    run_jobs([job], timeout, store)
    return replace(made[0], wall=time.monotonic() - began)
