"""The predictions of the validation: of locks with numbers of threads, and of changes."""

import statistics
from collections.abc import Callable, Mapping, Sequence

from lockwright.base.errors import LockwrightError
from lockwright.bench.predictions.store import Store
from lockwright.bench.predictions.subjects import (
    COUNT,
    PROFILED_THREADS,
    SECTION,
    Case,
    Subject,
)
from lockwright.predict import changes, progress
from lockwright.predict.changes import Change
from lockwright.predict.derive import Derived, derive
from lockwright.predict.fit import fit
from lockwright.predict.simulations import job, points, simulate
from lockwright.profile import record
from lockwright.simulate.figures import BASELINE, integers
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Model
from lockwright.simulate.run import Cell, Line

RUNS = 1
"""Seeds of each simulation."""

Rates = dict[tuple[str, int, str], float]
"""Predicted throughputs by subject, threads and lock."""

Gains = dict[str, float]
"""Predicted changes of the throughput by the name of the case."""


def models(
    subjects: Sequence[Subject], machine: Machine, store: Store, timeout: float
) -> tuple[dict[str, Derived], list[str]]:
    """Return the models of the profiled subjects by name, and a line for each that has none."""
    found: dict[str, Derived] = {}
    problems = []
    for subject in subjects:
        try:
            derived = derive(record.read(store.profile(subject.name)), machine)
            found[subject.name] = fit(derived, machine, RUNS, 1, timeout).derived
        except LockwrightError as error:
            problems.append(f"{subject.name}: {error.what}")
    return found, problems


def rates(
    subject: Subject,
    derived: Derived,
    machine: Machine,
    cells: Sequence[Cell],
    timeout: float,
    on_end: Callable[[], None],
) -> Rates:
    """Return the median throughput of a subject in each cell over all assumptions."""
    at = [each for each in points(derived.variants, machine, RUNS, 1) if each.machine is machine]
    jobs = {
        (index, cell): job(point, point.variant.model, _simulated(derived, cell), None)
        for index, point in enumerate(at)
        for cell in cells
    }
    outcomes = simulate(jobs, timeout, on_end)
    by_cell: dict[Cell, list[float]] = {}
    for (index, cell), line in outcomes.lines.items():
        model = at[index].variant.model
        by_cell.setdefault(cell, []).append(_throughput(subject, derived, model, line))
    return {
        (subject.name, cell.threads, cell.lock): statistics.median(values)
        for cell, values in by_cell.items()
    }


def gains(
    cases: Sequence[Case],
    models_of: Mapping[str, Derived],
    machine: Machine,
    timeout: float,
    on_end: Callable[[], None],
) -> Gains:
    """Return the predicted change of each case whose subject has a model."""
    jobs = {}
    models_at = {}
    for case in cases:
        derived = models_of.get(case.before.name)
        if derived is None:
            continue
        change = _change(case, derived)
        at = points(derived.variants, machine, RUNS, 1)
        for index, point in enumerate(each for each in at if each.machine is machine):
            changed = change.applied(point.variant)
            before = _simulated(derived, Cell(BASELINE, case.before.threads))
            after = _simulated(derived, Cell(BASELINE, case.after.threads))
            models_at[case.name, index] = (point.variant.model, changed.model)
            jobs[case.name, index, 0] = job(point, point.variant.model, before, None)
            jobs[case.name, index, 1] = job(point, changed.model, after, None)
    outcomes = simulate(jobs, timeout, on_end)
    found: Gains = {}
    for case in cases:
        derived = models_of.get(case.before.name)
        ratios = []
        for (name, index, which), line in outcomes.lines.items():
            before_line = outcomes.lines.get((name, index, 0))
            if name == case.name and which == 1 and before_line and derived:
                before_model, after_model = models_at[name, index]
                before_rate = _throughput(case.before, derived, before_model, before_line)
                after_rate = _throughput(case.after, derived, after_model, line)
                ratios.append(after_rate / before_rate)
        if ratios:
            found[case.name] = statistics.median(ratios)
    return found


def _change(case: Case, derived: Derived) -> Change:
    """Return the change of the model. The subjects have one mutex that matters, the first."""
    name = derived.model.mutexes[0].name
    if case.kind == COUNT:
        return changes.thread_count(derived.model.times_the_threads(case.value / PROFILED_THREADS))
    if case.kind == SECTION:
        return changes.section(0, name, case.value, moved=False)
    return changes.shards(0, name, round(case.value))


def _simulated(derived: Derived, cell: Cell) -> Cell:
    """Return the cell with the number of all threads, of that which is the program's option."""
    return Cell(cell.lock, derived.model.times_the_threads(cell.threads / PROFILED_THREADS))


def _throughput(subject: Subject, derived: Derived, model: Model, line: Line) -> float:
    threads = len(integers(line, "per_thread"))
    rate = progress.rate(model.with_threads(threads), line)
    return derived.runs_per_second(rate) if subject.is_whole else rate
