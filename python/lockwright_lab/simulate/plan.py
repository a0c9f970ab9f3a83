"""The simulations that options ask for: what `lockwright simulate` checks first."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.machines import load_machine
from lockwright.experiment.terminal import print_grid
from lockwright.simulate import machine as machines
from lockwright.simulate import model
from lockwright.simulate import run as runs
from lockwright.simulate.progress import simulations
from rich.console import Console

from lockwright_lab.simulate import sensitivity
from lockwright_lab.simulate.experiment import Plan
from lockwright_lab.simulate.own_lock import compiled

_BRIEF = 1e-6
"""Simulated seconds in which the simulator has read its options."""

_MODEL = "model:"
"""Prefix of a workload that is the model of a program."""


@dataclass(frozen=True)
class Request:
    """The options. header, type_: the user's lock; words: parameters of the workload, as NAME=N;
    threads: their numbers, () for as many as the machine has cores; seconds: simulated; timeout:
    seconds of each simulation; trace_file: for a timeline."""

    header: str | None
    type_: str | None
    machine_name: str
    locks: str | None
    rwlocks: str | None
    workload: str
    words: Sequence[str]
    threads: Sequence[int]
    seconds: float
    seed: int
    timeout: float
    trace_file: Path | None


def plan(request: Request) -> Plan:
    """Check the options, and compile the user's lock. Raises LockwrightError."""
    machine = load_machine(request.machine_name, request.timeout)
    workload, program = _workload(request.workload)
    parameters = runs.choose_workload(workload, request.words)
    chosen = runs.choose_for_workload(workload, request.locks, request.rwlocks)
    of_rwlocks = runs.catalogue().workloads[workload].of_rwlocks
    cores = machine.processors // int(machine.figures["shape.threads_per_core"])
    counts = list(dict.fromkeys(request.threads)) or [cores]
    is_one = (len(chosen), len(counts), request.header) == (1, 1, None)
    if request.trace_file is not None and not is_one:
        raise LockwrightError(
            "--trace shows one lock of the list with one number of threads",
            f"give one with --{'rw' * of_rwlocks}locks and one with --threads, and no header",
        )
    folder = tempfile.TemporaryDirectory(prefix="lockwright-")
    own = None
    if request.header is not None:
        own = compiled(Path(request.header), request.type_, Path(folder.name), of_rwlocks)
    setup = runs.Setup(
        machine,
        workload,
        parameters,
        request.seconds,
        request.seed % 2**53,
        own,
        request.trace_file,
        of_rwlocks,
        program,
    )
    names = list(dict.fromkeys([*([own.name] if own is not None else []), *chosen]))
    _check(setup, runs.Cell(names[-1], max(counts)), request.timeout)
    return Plan(setup, names, counts, request.timeout, folder)


def _check(setup: runs.Setup, cell: runs.Cell, timeout: float) -> None:
    """Raise LockwrightError if the simulator refuses an option, before the first simulation."""
    brief = replace(setup, seconds=min(setup.seconds, _BRIEF), trace=None)
    runs.run_jobs([runs.Job(brief, cell)], timeout, lambda *_: None)


def _workload(name: str) -> tuple[str, model.Model | None]:
    """Return the workload of the simulator, and the program that it runs."""
    if name.startswith(_MODEL):
        return runs.MODEL, model.load(Path(name.removeprefix(_MODEL)))
    if name == runs.MODEL:
        raise LockwrightError(
            "the workload 'model' needs the file of a program", "give --workload model:FILE"
        )
    return name, None


def examine_sensitivity(planned: Plan) -> None:
    """Print the effect of each figure of the machine on the ranking. Raises LockwrightError if the
    plan has several numbers of threads."""
    setup, cells = planned.setup, [runs.Cell(name, planned.counts[0]) for name in planned.locks]
    if len(planned.counts) != 1:
        raise LockwrightError(
            "--sensitivity needs one number of threads", "give one with --threads"
        )
    rounds = 1 + len(sensitivity.FACTORS) * len(sensitivity.varied(setup))
    with simulations(rounds * len(cells)) as advance:
        effects = sensitivity.examine(
            setup, cells, planned.timeout, lambda cell: advance(cell.text)
        )
    print_grid(terminal.output(), sensitivity.table(setup, effects))


def show_list(console: Console) -> None:
    """Print the machines and the workloads."""
    console.print("Machines:", style="bold")
    titles = [(name, machines.load(name).title) for name in machines.built_in_names()]
    terminal.print_terms(console, titles)
    console.print("Workloads, with their parameters:", style="bold")
    terms = []
    for workload in runs.catalogue().workloads.values():
        parameters = " ".join(f"{name}={value:g}" for name, value in workload.parameters.items())
        terms.append((workload.name, f"{workload.measures}. {parameters}"))
    terminal.print_terms(console, terms)
