"""A simulation from its options to its files: what `lockwright simulate` does."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.base.files import write
from lockwright.calibrate.machines import load_machine
from lockwright.simulate import figures, model
from lockwright.simulate import run as runs
from lockwright.simulate.progress import simulations
from rich.console import Console

from lockwright_lab.simulate import open_pairs, page, report, sensitivity
from lockwright_lab.simulate.own_lock import compiled

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


@dataclass(frozen=True)
class Plan:
    """The simulations to make. counts: numbers of threads; folder: of the compiled lock."""

    setup: runs.Setup
    cells: Sequence[runs.Cell]
    counts: Sequence[int]
    timeout: float
    folder: "tempfile.TemporaryDirectory[str]"


@dataclass
class Simulated:
    """The results. at_ends: those at each end of the machine's ranges, by its label; ends: their
    number; stopped: they are incomplete."""

    plan: Plan
    ends: int
    results: runs.Results = field(default_factory=runs.Results)
    at_ends: dict[str, runs.Results] = field(default_factory=dict)
    stopped: bool = False

    @property
    def made(self) -> str:
        """How many of the simulations were made, in words."""
        made = sum(len(ended.lines) for ended in (self.results, *self.at_ends.values()))
        return f"{made} of {(1 + self.ends) * len(self.plan.cells)} simulations"

    @property
    def pairs(self) -> Sequence[report.OpenPair]:
        return open_pairs.open_pairs(self.results, self.at_ends)

    @property
    def failures(self) -> list[str]:
        """A line for each simulation that failed."""
        of_each = [("", self.results)]
        of_each += [(f" and {label}", at_end) for label, at_end in self.at_ends.items()]
        return [
            f"{cell.lock} with {cell.threads} threads{where}: {what}"
            for where, ended in of_each
            for cell, what in ended.failures.items()
        ]


def plan(request: Request) -> Plan:
    """Check the options, and compile the user's lock. Raises LockwrightError."""
    machine = load_machine(request.machine_name, request.timeout)
    workload, program = _workload(request.workload)
    parameters = runs.choose_workload(workload, request.words)
    chosen = runs.choose_for_workload(workload, request.locks, request.rwlocks)
    of_rwlocks = runs.catalogue().workloads[workload].of_rwlocks
    cores = machine.processors // int(machine.figures["shape.threads_per_core"])
    counts = request.threads or [cores]
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
    names = dict.fromkeys([*([own.name] if own is not None else []), *chosen])
    cells = [runs.Cell(name, count) for count in counts for name in names]
    return Plan(setup, cells, counts, request.timeout, folder)


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
    """Print the effect of each figure of the machine on the ranking."""
    setup, cells = planned.setup, planned.cells
    if len(planned.counts) != 1:
        raise LockwrightError(
            "--sensitivity needs one number of threads", "give one with --threads"
        )
    rounds = 1 + len(sensitivity.FACTORS) * len(sensitivity.varied(setup))
    with simulations(rounds * len(cells)) as advance:
        effects = sensitivity.examine(
            setup, cells, planned.timeout, lambda cell: advance(cell.text)
        )
    terminal.output().print(sensitivity.table(setup, effects))


def carry_out(planned: Plan) -> Simulated:
    """Simulate all cells in the middle and at the ends of the machine's ranges, until Ctrl-C."""
    setup, cells, timeout = planned.setup, planned.cells, planned.timeout
    simulated = Simulated(planned, len(setup.machine.range_ends()))
    is_first = True
    try:
        with simulations((1 + simulated.ends) * len(cells)) as advance:

            def show(cell: runs.Cell) -> None:
                advance(cell.text)

            simulated.results = runs.run(setup, cells, timeout, show)
            is_first = False
            open_pairs.simulate_ends(setup, cells, timeout, show, simulated.at_ends)
    except runs.Interrupted as interrupt:
        cause = interrupt.__cause__
        if isinstance(cause, LockwrightError) or not isinstance(cause, KeyboardInterrupt):
            raise cause or interrupt from None
        simulated.stopped = True
        if is_first:
            simulated.results = interrupt.results
    return simulated


def show(simulated: Simulated, console: Console) -> None:
    """Print the tables, the open pairs and the failures."""
    setup = simulated.plan.setup
    rows = report.table_rows(simulated.results)
    for count in dict.fromkeys(simulated.plan.counts):
        if any(row["threads"] == count for row in rows):
            console.print(report.table(setup, rows, count))
    if rows:
        legend = [(column.heading, column.meaning) for column in figures.columns(setup).values()]
        terminal.print_terms(console, legend)
    if simulated.at_ends:
        for line in open_pairs.summary(simulated.pairs, simulated.ends):
            console.print(line, markup=False, soft_wrap=True)
    for text in simulated.failures:
        console.print(f"FAILED: {text}", style="bold red", soft_wrap=True)


def write_files(simulated: Simulated, files: Mapping[str, Path | None]) -> None:
    """Write the results. files: by option, `--json`, `--csv` and `--html`."""
    setup, results, pairs = simulated.plan.setup, simulated.results, simulated.pairs
    rows = report.table_rows(results)
    if (path := files["--json"]) is not None:
        write(path, report.as_json(setup, results, rows, not simulated.stopped, pairs), "--json")
    if (path := files["--csv"]) is not None:
        write(path, report.as_csv(setup, rows), "--csv")
    if (path := files["--html"]) is not None:
        write(path, page.as_page(setup, results, rows, simulated.failures, pairs), "--html")


def conclude(simulated: Simulated) -> int:
    """Print how far it came if it was stopped, and return the exit status."""
    if simulated.stopped:
        print(f"Stopped after {simulated.made}.")
        return 130
    sys.stdout.flush()
    return 1 if simulated.failures else 0


def show_list(console: Console) -> None:
    """Print the machines and the workloads."""
    from lockwright.simulate import machine as machines

    console.print("Machines:", style="bold")
    titles = [(name, machines.load(name).title) for name in machines.built_in_names()]
    terminal.print_terms(console, titles)
    console.print("Workloads, with their parameters:", style="bold")
    terms = []
    for workload in runs.catalogue().workloads.values():
        parameters = " ".join(f"{name}={value:g}" for name, value in workload.parameters.items())
        terms.append((workload.name, f"{workload.measures}. {parameters}"))
    terminal.print_terms(console, terms)
