"""The runs of contenders on a simulated machine, in the cells that the simulator can express."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lockwright.simulate import run as simulator
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Job, Line, Setup

from lockwright_lab.bench.regret.contenders import Contender
from lockwright_lab.bench.regret.grid import Cell
from lockwright_lab.bench.regret.runs import Run

_SECTIONS = 300
"""Least number of sections that fit into a run."""

_PLAIN = {"section-ns", "gap-ns", "locks", "queue", "exponential"}
"""Options of a cell that the simulator has; `exponential` only as 0."""

_TIMEOUT = 600.0


def is_possible(cell: Cell) -> bool:
    """Return True if the simulator can express a cell."""
    named = {name for name, _ in cell.options}
    return named <= _PLAIN and not cell.option("exponential") and not cell.quota


def possible(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """Return the cells that can be simulated, and remarks on the others."""
    chosen = [cell for cell in cells if is_possible(cell)]
    remarks = []
    if left_out := [cell for cell in cells if not is_possible(cell)]:
        families = dict.fromkeys(_reason(cell) for cell in left_out)
        remarks.append(
            f"Left out, {len(left_out)} of {len(cells)} cells that the simulator cannot express: "
            f"{', '.join(families)}."
        )
    if any(cell.option("queue") for cell in chosen):
        remarks.append("The threads of a simulated queue do no work in their sections.")
    return chosen, remarks


def _reason(cell: Cell) -> str:
    if cell.family != "single":
        return cell.family
    return "bimodal sections" if cell.option("long-one-in") else "exponential gaps"


@dataclass(frozen=True)
class Simulated:
    """A simulated machine. seconds: of simulated time in a run."""

    machine: Machine
    seconds: float
    timeout: float | None = None

    def setup(self, cell: Cell, round_number: int) -> Setup:
        """Return the simulation of a cell; the round is the seed."""
        ghz = self.machine.figures["clock.ghz"]
        section, gap = cell.option("section-ns"), cell.option("gap-ns")
        seconds = max(self.seconds, _SECTIONS * section / 1e9)
        parameters = {"section-cycles": f"{ghz * section:.0f}", "gap-cycles": f"{ghz * gap:.0f}"}
        workload = "single-lock"
        if cell.option("locks"):
            workload = "variable-contention"
            parameters["locks"] = f"{cell.option('locks'):.0f}"
        if cell.option("queue"):
            workload = "producer-consumer"
            parameters = {
                "capacity": f"{cell.option('queue'):.0f}",
                "consumers": str(cell.threads // 2),
            }
        return Setup(self.machine, workload, parameters, seconds, round_number + 1)

    def run(
        self,
        cell: Cell,
        contenders: Sequence[Contender],
        round_number: int,
        show: Callable[[str], None],
    ) -> Iterator[Run]:
        """Yield the runs, several of which are made at a time."""
        setup = self.setup(cell, round_number)
        threads = cell.threads - (cell.threads // 2 if cell.option("queue") else 0)
        names = {
            Job(setup, simulator.Cell(each.subject.name, threads), each.environment): each.name
            for each in contenders
        }
        runs: list[Run] = []
        began = time.monotonic()

        def store(job: Job, line: Line | None, failure: str) -> None:
            if line is None:
                runs.append(Run(cell.name, names[job], round_number, failure=failure))
            else:
                # Several run at a time: the mean over those that have ended.
                wall_time = (time.monotonic() - began) / (len(runs) + 1)
                runs.append(run_of(line, cell.name, names[job], round_number, wall_time))

        show(f"{len(contenders)} locks")
        simulator.run_jobs(list(names), self.timeout or _TIMEOUT, store)
        yield from runs


def run_of(line: Line, cell: str, contender: str, round_number: int, wall_time: float) -> Run:
    """Return the figures of one simulation. wall_time: its seconds. A thread without an operation
    has waited all the time."""

    def integer(name: str) -> int:
        value = line[name]
        assert isinstance(value, int)
        return value

    per_thread = line["per_thread"]
    assert isinstance(per_thread, list)
    seconds = integer("picoseconds") / 1e12
    return Run(
        cell,
        contender,
        round_number,
        rate=integer("operations") / seconds,
        longest=integer("wait_max_ps") / 1e12 if all(per_thread) else seconds,
        seconds=wall_time,
        processors=integer("running_ps") / 1e12 / seconds,
    )
