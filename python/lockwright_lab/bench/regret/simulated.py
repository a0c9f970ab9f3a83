"""The runs of contenders on a simulated machine, in the cells that the simulator can express."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lockwright.experiment import Contender, Outcome
from lockwright.simulate.figures import integer, integers
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell, Job, Line, Setup

from lockwright_lab.bench.regret.grid import Load
from lockwright_lab.simulate.one import simulated

_SECTIONS = 300
"""Least number of sections that fit into a run."""

_PLAIN = {"section-ns", "gap-ns", "locks", "queue", "exponential"}
"""Options of a load that the simulator has; `exponential` only as 0."""

_WAITS = ("wait_max_ps", "longest_read_wait_ps", "longest_write_wait_ps")
"""The longest waits, of which a simulation has some."""

_TIMEOUT = 600.0


def is_possible(load: Load) -> bool:
    """Return True if the simulator can express a load."""
    if load.of_rwlocks:
        return True
    named = {name for name, _ in load.options}
    return named <= _PLAIN and not load.option("exponential") and not load.quota


def possible(loads: Sequence[Load]) -> tuple[list[Load], list[str]]:
    """Return the loads that can be simulated, and remarks on the others."""
    chosen = [load for load in loads if is_possible(load)]
    remarks = []
    if left_out := [load for load in loads if not is_possible(load)]:
        families = dict.fromkeys(_reason(load) for load in left_out)
        remarks.append(
            f"Left out, {len(left_out)} of {len(loads)} cells that the simulator cannot express: "
            f"{', '.join(families)}."
        )
    if any(load.option("queue") for load in chosen):
        remarks.append("The threads of a simulated queue do no work in their sections.")
    return chosen, remarks


def _reason(load: Load) -> str:
    if load.family != "single":
        return load.family
    return "bimodal sections" if load.option("long-one-in") else "exponential gaps"


@dataclass(frozen=True)
class Simulated:
    """A simulated machine. seconds: of simulated time in a run."""

    machine: Machine
    seconds: float
    timeout: float | None = None

    def setup(self, load: Load, round_number: int) -> Setup:
        """Return the simulation of a load; the round is the seed."""
        if load.of_rwlocks:
            given = {name: f"{value:g}" for name, value in load.options}
            return Setup(self.machine, "rwlock", given, self.seconds, round_number, of_rwlocks=True)
        ghz = self.machine.figures["clock.ghz"]
        section, gap = load.option("section-ns"), load.option("gap-ns")
        seconds = max(self.seconds, _SECTIONS * section / 1e9)
        parameters = {"section-cycles": f"{ghz * section:.0f}", "gap-cycles": f"{ghz * gap:.0f}"}
        workload = "single-lock"
        if load.option("locks"):
            workload = "variable-contention"
            parameters["mutexes"] = f"{load.option('locks'):.0f}"
        if load.option("queue"):
            workload = "producer-consumer"
            parameters = {
                "capacity": f"{load.option('queue'):.0f}",
                "consumers": str(load.threads // 2),
            }
        return Setup(self.machine, workload, parameters, seconds, round_number)

    @contextmanager
    def prepared(self, _: Sequence[Load]) -> Iterator[None]:
        """Prepare nothing."""
        yield

    def run(self, load: Load, contender: Contender, round_number: int) -> Outcome:
        """Make a simulation."""
        threads = load.threads - (load.threads // 2 if load.option("queue") else 0)
        cell = Cell(contender.subject.name, threads)
        job = Job(self.setup(load, round_number), cell, contender.environment)
        limit = self.timeout or _TIMEOUT
        return simulated(job, limit, lambda line: Outcome(figures=figures(line)))


def figures(line: Line) -> dict[str, float]:
    """Return the figures of one simulation. A thread without an operation has waited all the
    time."""
    seconds = integer(line, "picoseconds") / 1e12
    longest = max(integer(line, each) for each in _WAITS if each in line) / 1e12
    return {
        "rate": integer(line, "operations") / seconds,
        "longest": longest if all(integers(line, "per_thread")) else seconds,
        "processors": integer(line, "running_ps") / 1e12 / seconds,
    }
