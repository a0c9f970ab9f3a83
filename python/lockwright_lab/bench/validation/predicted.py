"""The predictions of the validation: of locks with numbers of threads, and of changes."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from lockwright.predict import changes, profiled_machine, progress
from lockwright.predict.changes import Change
from lockwright.predict.derive import Derived, derive
from lockwright.predict.fit import fit
from lockwright.predict.simulations import job, points, simulate
from lockwright.profile import record
from lockwright.simulate.figures import BASELINE, integers
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Model
from lockwright.simulate.run import Cell, Job, Line

from lockwright_lab.bench.validation.subjects import (
    COUNT,
    PROFILED_THREADS,
    SECTION,
    Case,
    Subject,
)

RUNS = 1
"""Seeds of each simulation."""

Rates = dict[tuple[str, int, str], float]
"""Predicted throughputs by subject, threads and lock."""

Gains = dict[str, float]
"""Predicted changes of the throughput by the name of the case."""

_Key = tuple[Cell | str, int]
"""A cell or the name of a case, and the index of the assumptions."""


def predict(
    subject: Subject,
    file: Path,
    machine: Machine,
    cells: Sequence[Cell],
    cases: Sequence[Case],
    timeout: float,
) -> tuple[Rates, Gains]:
    """Return the predictions of a subject, whose profile is in a file: its throughput in each cell,
    and the effect of each change of it; both medians over all assumptions. timeout: seconds of each
    simulation. Raises LockwrightError for a profile that does not suffice."""
    profile = record.read(file)
    machine = profiled_machine.with_wakes(profile, machine)
    fitted = fit(derive(profile, machine), machine, RUNS, 1, timeout)
    derived, machine = fitted.derived, fitted.machine
    at = [each for each in points(derived.variants, machine, RUNS, 1) if each.machine is machine]
    before = Cell(BASELINE, subject.threads)
    changes_of = {case.name: _change(case, derived) for case in cases}
    jobs: dict[_Key, Job] = {}
    models: dict[_Key, Model] = {}
    for index, point in enumerate(at):
        model = point.variant.model
        for cell in {*cells, before}:
            models[cell, index] = model
            jobs[cell, index] = job(point, model, _simulated(derived, cell), None)
        for case in cases:
            models[case.name, index] = changes_of[case.name].applied(point.variant).model
            after = _simulated(derived, Cell(BASELINE, case.after.threads))
            jobs[case.name, index] = job(point, models[case.name, index], after, None)
    lines = simulate(jobs, timeout).lines
    values = {key: _throughput(subject, derived, models[key], line) for key, line in lines.items()}
    rates = {
        (subject.name, cell.threads, cell.lock): statistics.median(found)
        for cell in cells
        if (found := [values[cell, i] for i in range(len(at)) if (cell, i) in values])
    }
    gains = {
        case.name: statistics.median(ratios)
        for case in cases
        if (
            ratios := [
                values[case.name, i] / values[before, i]
                for i in range(len(at))
                if (case.name, i) in values and (before, i) in values
            ]
        )
    }
    return rates, gains


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
