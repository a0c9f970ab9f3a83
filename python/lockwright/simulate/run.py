"""Runs of lockwright-simulate, on all processors at once, and their results."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.run import tools
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Model

MODEL = "model"
"""The workload that runs the model of a program."""

Line = Mapping[str, object]
"""A JSON object that the program printed."""


@dataclass(frozen=True)
class OwnLock:
    """A lock outside the registry, compiled into a library."""

    name: str
    shared_object: Path


@dataclass(frozen=True)
class Workload:
    """A workload of the simulator, with its parameters and their defaults. of_rwlocks: its locks
    are reader-writer locks."""

    name: str
    measures: str
    parameters: Mapping[str, float]
    of_rwlocks: bool


@dataclass(frozen=True)
class Catalogue:
    """The workloads and locks that the simulator was built with."""

    locks: Sequence[str]
    rwlocks: Sequence[str]
    workloads: Mapping[str, Workload]


@dataclass(frozen=True)
class Cell:
    """A lock and a number of threads."""

    lock: str
    threads: int

    @property
    def text(self) -> str:
        return f"{self.lock}, {self.threads} thread{'s' if self.threads != 1 else ''}"


@dataclass(frozen=True)
class Setup:
    """The options that all cells of a run share. parameters: of the workload. of_rwlocks: the
    locks are reader-writer locks. model: the program that the workload MODEL runs."""

    machine: Machine
    workload: str
    parameters: Mapping[str, str]
    seconds: float
    seed: int
    own: OwnLock | None = None
    trace: Path | None = None
    of_rwlocks: bool = False
    model: Model | None = None


@dataclass(frozen=True, eq=False)
class Job:
    """A simulation. environment: variables that set parameters of its lock."""

    setup: Setup
    cell: Cell
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Results:
    """The results of the cells, including those that failed."""

    lines: dict[Cell, Line] = field(default_factory=dict)
    failures: dict[Cell, str] = field(default_factory=dict)


def program() -> Path:
    """Return the path of lockwright-simulate. Raises LockwrightError if it was not built."""
    try:
        return tools.find("lockwright-simulate", "simulating")
    except LockwrightError as error:
        raise LockwrightError(
            error.what, "install libboost-context-dev, and build Lockwright again"
        ) from error


@cache
def catalogue() -> Catalogue:
    """Return the locks and workloads of the program."""
    done = subprocess.run([program(), "list"], capture_output=True, text=True, check=False)
    names: dict[str, list[str]] = {"lock": [], "rwlock": []}
    workloads: dict[str, Workload] = {}
    parameters: dict[str, dict[str, float]] = {}
    for text in done.stdout.splitlines():
        line = json.loads(text)
        if line["kind"] in names:
            names[line["kind"]].append(line["name"])
        elif line["kind"] == "workload":
            defaults = parameters.setdefault(line["name"], {})
            workloads[line["name"]] = Workload(
                line["name"], line["measures"], defaults, line["locks"] == "rwlocks"
            )
        else:
            parameters[line["workload"]][line["name"]] = line["initial"]
    return Catalogue(names["lock"], names["rwlock"], workloads)


def choose_locks(names: str | None) -> list[str]:
    """Return the locks of a comma-separated list; all for None or `all`."""
    return _choose(names, catalogue().locks, "lock", "")


def choose_for_workload(workload: str, locks: str | None, rwlocks: str | None) -> list[str]:
    """Return the locks, or the reader-writer locks, that a workload uses: those of its list. Raises
    LockwrightError if the other list is given."""
    if catalogue().workloads[workload].of_rwlocks:
        if locks is not None:
            raise LockwrightError(
                f"{workload} takes no --locks", "name reader-writer locks with --rwlocks"
            )
        return _choose(rwlocks, catalogue().rwlocks, "reader-writer lock", "rw")
    if rwlocks is not None:
        raise LockwrightError(f"{workload} takes no --rwlocks", "give --workload rwlock")
    return choose_locks(locks)


def _choose(names: str | None, known: Sequence[str], kind: str, prefix: str) -> list[str]:
    """Return the names of a list, all for None or `all`. prefix: of the option's name."""
    if names is None or names.strip() == "all":
        return list(known)
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            command = "lockwright list --reader-writer" if prefix else "lockwright list"
            hint = nearest_hint(name, known, f"'{command}' shows them")
            raise LockwrightError(f"no {kind} is named '{name}'", hint)
    if not chosen:
        raise LockwrightError(f"--{prefix}locks names no lock", "name some, or leave it out")
    return list(dict.fromkeys(chosen))


def choose_workload(name: str, words: Sequence[str]) -> dict[str, str]:
    """Return the parameters of a workload, given by words such as `section-cycles=500`. Raises
    LockwrightError for an unknown workload or parameter."""
    known = catalogue().workloads
    if name not in known:
        hint = nearest_hint(name, known)
        raise LockwrightError(f"no simulated workload is named '{name}'", hint)
    parameters = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in {*known[name].parameters, *_COMMON}:
            names = ", ".join([*known[name].parameters, *_COMMON])
            raise LockwrightError(f"{name} has no parameter '{key}'", f"give one of {names} as =N")
        parameters[key] = value
    return parameters


_COMMON = (
    "warm-up",
    "window",
    "spread",
    "balanced",
    "main-thread",
    "interrupt-every",
    "data-lines",
)


def run(
    setup: Setup,
    cells: Sequence[Cell],
    timeout: float,
    on_end: Callable[[Cell], None] = lambda cell: None,
) -> Results:
    """Simulate the cells, as many at a time as there are processors. Raises Interrupted, with the
    results so far, on every exception."""
    results = Results()

    def store(job: Job, line: Line | None, failure: str) -> None:
        if line is None:
            results.failures[job.cell] = failure
        else:
            results.lines[job.cell] = line
        on_end(job.cell)

    try:
        run_jobs([Job(setup, cell) for cell in cells], timeout, store)
    except BaseException as interrupt:
        raise Interrupted(results) from interrupt
    finally:
        # The order of `cells`, so that the same seed gives the same files.
        results.lines = {cell: results.lines[cell] for cell in cells if cell in results.lines}
    return results


def run_jobs(
    jobs: Iterable[Job], timeout: float, on_end: Callable[[Job, Line | None, str], None]
) -> None:
    """Simulate the jobs, as many at a time as there are processors; each is taken from `jobs` when
    it begins. on_end: called at the end of each job with its result, or None and the reason for its
    failure."""
    processors = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="lockwright-") as folder:
        inputs = _Inputs(Path(folder))
        with ThreadPoolExecutor(max_workers=processors) as pool:
            running: dict[Future[Line], Job] = {}
            waiting = iter(jobs)
            while True:
                for job in islice(waiting, processors - len(running)):
                    running[pool.submit(_simulate, job, inputs.options(job), timeout)] = job
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    job = running.pop(future)
                    try:
                        line = future.result()
                    except _Failed as failure:
                        on_end(job, None, str(failure))
                    else:
                        on_end(job, line, "")


class _Inputs:
    """The files of machines and models that simulations read, each written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[tuple[int, int], Path] = {}

    def options(self, job: Job) -> list[str]:
        """Return the options of a job that name its files."""
        setup, threads = job.setup, job.cell.threads
        machine = self._path((id(setup.machine), 0), setup.machine.simulator_input)
        words = ["--machine", str(machine)]
        if setup.model is not None:
            of_threads = setup.model.with_threads(threads)
            model = self._path((id(setup.model), threads), of_threads.simulator_input)
            words += ["--model", str(model)]
        return words

    def _path(self, key: tuple[int, int], text: Callable[[], str]) -> Path:
        if key not in self._paths:
            self._paths[key] = self._folder / f"input-{len(self._paths)}"
            self._paths[key].write_text(text())
        return self._paths[key]


class Interrupted(Exception):
    """The interruption of a run, with the results of the cells that had ended."""

    def __init__(self, results: Results) -> None:
        super().__init__("stopped")
        self.results = results


class _Failed(Exception):
    """The failure of a simulation, with its reason."""


def _simulate(job: Job, inputs: list[str], timeout: float) -> Line:
    setup, cell = job.setup, job.cell
    command = [str(program()), "run", *inputs]
    command += ["--workload", setup.workload, "--threads", str(cell.threads)]
    command += ["--seconds", f"{setup.seconds:.12f}", "--seed", str(setup.seed)]
    if setup.own is not None and cell.lock == setup.own.name:
        command += ["--load", str(setup.own.shared_object)]
    else:
        command += ["--lock", cell.lock]
    if "warm-up" not in setup.parameters:
        command += ["--warm-up", f"{setup.seconds / 10:.12f}"]
    for name, value in setup.parameters.items():
        command += [f"--{name}", value]
    if setup.trace is not None:
        command += ["--trace", str(setup.trace)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env={**os.environ, **job.environment},
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f"no end after {timeout:g} s") from None
    errors = done.stderr.strip().splitlines()
    error = errors[-1].removeprefix("lockwright-simulate: ") if errors else ""
    if done.returncode == 2:
        what, _, todo = error.partition("; ")
        raise LockwrightError(what, todo or "see 'lockwright simulate --help'")
    if done.returncode != 0:
        raise _Failed(error or f"the simulator ended with status {done.returncode}")
    line = json.loads(done.stdout)
    assert isinstance(line, dict)
    return line
