"""A predicted study: the simulations of skeletons under locks, a line of a CSV file for each.
`lockwright study analyse` reads it like one that was measured; its machine is called predicted."""

import csv
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.predict.simulations import STEPS, length
from lockwright.predict.skeletons.files import Skeletons
from lockwright.simulate.figures import figures
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Estimate, Model, Operation
from lockwright.simulate.run import MODEL, Cell, Job, Line, Setup, run_jobs

COLUMNS = (
    "machine",
    "application",
    "lock",
    "nodes",
    "threads",
    "run",
    "throughput",
    "outcome",
    "sections_per_second",
    "prediction",
)
"""The columns of the file. run: the number of the model and, with several seeds, of the seed.
prediction: a digest of the simulation's inputs."""

_SHORTEST, _LONGEST = 0.002, 0.024
"""Limits on the simulated seconds, unless they are given."""

FINISHED, NO_OPERATION, FAILED = "finished", "no operation", "failed"


@dataclass(frozen=True)
class Place:
    """Where the threads run: the first nodes of a machine. threads: those of a program with one for
    each processor."""

    nodes: int
    threads: int
    machine: Machine


@dataclass(frozen=True)
class Row:
    """A predicted run."""

    application: str
    lock: str
    place: Place
    run: int
    operation: Operation
    prediction: str
    estimate: Estimate | None = None

    @property
    def key(self) -> tuple[str, ...]:
        return (self.application, self.lock, *map(str, (self.place.nodes, self.place.threads)))

    def throughput(self, sections: float) -> str:
        """Return the field of the throughput. sections: simulated sections per second."""
        if sections <= 0:
            return ""
        operations = self.operation.rate(sections, self.place.machine.processors)
        if self.estimate is not None:
            operations = self.estimate.corrected(self.lock, operations)
        return f"{operations:.9g}"

    def fields(self, line: Line | None) -> list[str]:
        """Return the line of the file. line: the simulation's result, None if it failed."""
        sections = 0.0 if line is None else float(f"{figures(line)['operations_per_second']:.9g}")
        outcome = FAILED if line is None else FINISHED if sections > 0 else NO_OPERATION
        return [
            name_of(self.place.machine),
            *self.key,
            str(self.run),
            self.throughput(sections),
            outcome,
            f"{sections:.9g}",
            self.prediction,
        ]

    def is_in(self, fields: Sequence[str]) -> bool:
        """Return whether the line of a file is this row's prediction, also of its throughput."""
        *_, throughput, _, sections, prediction = fields
        try:
            return (throughput, prediction) == (self.throughput(float(sections)), self.prediction)
        except ValueError:
            return False


@dataclass(frozen=True)
class Plan:
    """The rows of a predicted study, and the simulation of each; rows may share one."""

    rows: tuple[Row, ...]
    jobs: Mapping[str, Job] = field(repr=False)

    def missing(self, done: set[tuple[str, ...]]) -> list[Row]:
        return [row for row in self.rows if (*row.key, str(row.run)) not in done]


def name_of(machine: Machine) -> str:
    """Return the name of a machine in a predicted study."""
    return f"{machine.name} (predicted)"


def places_by_nodes(machine: Machine, nodes: Sequence[int]) -> list[Place]:
    """Return the places with those numbers of nodes, with a thread for each core. Raises
    LockwrightError for more nodes than there are."""
    found = []
    for count in nodes:
        if not 1 <= count <= machine.nodes:
            raise LockwrightError(
                f"{machine.name} has {machine.nodes} nodes, not {count}",
                f"give 1 to {machine.nodes} for --nodes",
            )
        part = machine.with_nodes(count)
        found.append(Place(count, count * machine.cores // machine.nodes, part))
    return found


def places_by_threads(machine: Machine, threads: Sequence[int]) -> list[Place]:
    """Return the places of so many threads on the whole machine."""
    return [Place(machine.nodes, count, machine) for count in threads]


def plan(
    skeletons: Skeletons,
    locks: Sequence[str],
    places: Sequence[Place],
    seeds: Sequence[int],
    seconds: float | None,
) -> Plan:
    """Return the plan of a study. seconds: simulated; None for a number that suits the model."""
    rows: list[Row] = []
    jobs: dict[str, Job] = {}
    shared: dict[tuple[str, int, int], tuple[str, Setup]] = {}
    for application, models in skeletons.items():
        for place in places:
            for index, (model, seed) in enumerate((m, s) for m in models for s in seeds):
                threads = max(1, round(place.threads * model.threads_per_processor))
                of_threads = model.with_threads(threads)
                text = of_threads.simulator_input()
                key = (text, id(place.machine), seed)
                if key not in shared:
                    simulated = seconds or _length(of_threads, place.machine)
                    setup = Setup(place.machine, MODEL, {}, simulated, seed, model=of_threads)
                    inputs = f"{place.machine.simulator_input()}\n{text}\n{simulated!r} {seed}"
                    shared[key] = (hashlib.sha256(inputs.encode()).hexdigest()[:16], setup)
                digest, setup = shared[key]
                for lock in locks:
                    name = f"{digest} {lock}"
                    jobs.setdefault(name, Job(setup, Cell(lock, threads)))
                    operation = model.operation or Operation()
                    about = (operation, name, model.estimate)
                    rows.append(Row(application, lock, place, index + 1, *about))
    return Plan(tuple(rows), jobs)


def _length(model: Model, machine: Machine) -> float:
    return min(_LONGEST, max(_SHORTEST, length(model, machine, STEPS)))


def begin(path: Path) -> None:
    """Create the file. Raises LockwrightError if it exists."""
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(COLUMNS)
    except FileExistsError as error:
        raise LockwrightError(
            f"there is a file {path}", "resume it with --resume, or give another -o"
        ) from error
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "give another file with -o"
        ) from error


def resume(path: Path, planned: Plan) -> set[tuple[str, ...]]:
    """Return the keys of the rows that the file has. An incomplete last line is removed. Raises
    LockwrightError if the file has predictions of other inputs, or is none of a study."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LockwrightError(
            f"there is no predicted study in {path}", "leave out --resume to begin one"
        ) from error
    whole = text[: text.rfind("\n") + 1]
    heading, *rows = csv.reader(io.StringIO(whole)) if whole else [[]]
    if tuple(heading) != COLUMNS:
        raise LockwrightError(
            f"{path} is not a predicted study", "give another -o, or leave out --resume"
        )
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    planned_rows = {(*row.key, str(row.run)): row for row in planned.rows}
    done = set()
    for number, row in enumerate(rows, 2):
        key = tuple(row[1:6])
        row_of_key = planned_rows.get(key)
        if len(row) != len(COLUMNS) or not (row_of_key is None or row_of_key.is_in(row)):
            raise LockwrightError(
                f"{path}:{number}: predicted from another machine, model, seed or length",
                "give the same options and skeletons, or begin another file with -o",
            )
        done.add(key)
    return done


def simulate(
    path: Path,
    planned: Plan,
    missing: Sequence[Row],
    timeout: float,
    on_end: Callable[[Row], None],
) -> dict[str, str]:
    """Simulate the missing rows and append them to the file, those of a simulation as soon as it
    ends. on_end: called after each simulation with a row of it. Return the reasons of failed
    simulations by lock and application."""
    by_name: dict[str, list[Row]] = {}
    for row in missing:
        by_name.setdefault(row.prediction, []).append(row)
    names = {id(planned.jobs[name]): name for name in by_name}
    failures: dict[str, str] = {}
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")

        def store(job: Job, line: Line | None, failure: str) -> None:
            rows = by_name[names[id(job)]]
            for row in rows:
                writer.writerow(row.fields(line))
                if failure:
                    failures[f"{row.lock} in {row.application}"] = failure
            file.flush()
            on_end(rows[0])

        run_jobs([planned.jobs[name] for name in by_name], timeout, store)
    return failures
