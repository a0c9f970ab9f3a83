"""Energy and counters of an experiment's runs, as columns of a table."""

import statistics
from collections.abc import Callable, Sequence

from lockwright.base.numbers import plain
from lockwright.experiment.columns import Column
from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import Run
from lockwright.experiment.summary import Summary
from lockwright.machine import meters
from lockwright.machine.meters import WINDOWED, Meters

_Value = Callable[[Run], float | None]


def columns(
    experiment: Experiment, read: Meters, cells: Sequence[Sequence[Summary]]
) -> list[Column]:
    """Return the columns of the meters that have a value in any row. read: the meters of the runs.

    Where runs have a detail `operations`, their number, figures are given per operation;
    `measured_operations` are those of the time over which the energy was read, if it is a part of
    the run only.
    """
    rows = [row for of_cell in cells for row in of_cell]
    counts_operations = any(row.details("operations") for row in rows)
    energy = [
        _column(
            "watts",
            "mean power of all packages, and of their memory if it has a counter",
            lambda run: meters.total_watts(run.meters),
        ),
        _column(
            "above idle",
            "those watts minus the idle machine's before the first run",
            lambda run: meters.above_idle(run.meters, read.idle),
        ),
        *(_energy_of_operations() if counts_operations else _energy_of_runs(experiment)),
    ]
    known = [
        *(energy if read.energy else []),
        *(_counts(counts_operations) if read.counters else []),
    ]
    return [each for each in known if any(each.text(row) != "-" for row in rows)]


def _column(heading: str, meaning: str, value: _Value) -> Column:
    def key(row: Summary) -> float | None:
        made = [run for run in row.counted if run.finished and run.meters]
        values = [figure for run in made if (figure := value(run)) is not None]
        return statistics.median(values) if values else None

    def text(row: Summary) -> str:
        median = key(row)
        return "-" if median is None else plain(median)

    return Column(heading, meaning, text, key)


def _energy_of_operations() -> list[Column]:
    def per_operation(run: Run) -> float | None:
        operations, joules = _operations(run), meters.total_joules(run.meters)
        return 1e6 * joules / operations if operations and joules is not None else None

    def per_joule(run: Run) -> float | None:
        operations, joules = _operations(run), meters.total_joules(run.meters)
        return operations / joules if operations and joules else None

    return [
        _column("uJ per op", "microjoules divided by operations (EPO)", per_operation),
        _column(
            "ops per J",
            "operations divided by joules, which is throughput divided by power (TPP)",
            per_joule,
        ),
    ]


def _operations(run: Run) -> float | None:
    name = "measured_operations" if WINDOWED in run.meters else "operations"
    return run.details.get(name)


def _energy_of_runs(experiment: Experiment) -> list[Column]:
    main = experiment.main
    columns = [
        _column("J per run", "joules of the whole run", lambda run: meters.total_joules(run.meters))
    ]
    if not main.lower_is_better:
        unit = f"{main.unit[:-2]}/J" if main.unit.endswith("/s") else f"{main.unit}/W"

        def per_watt(run: Run) -> float | None:
            watts, value = meters.total_watts(run.meters), run.figures.get(main.name)
            return value / watts if value is not None and watts else None

        columns.append(_column(unit, "the figure divided by the watts of its run (TPP)", per_watt))
    return columns


_PER_OPERATION = {
    "cycles": "processor cycles in a run",
    "instructions": "instructions in a run",
    "cache_misses": "misses of the last-level cache in a run",
}
_PER_RUN = {
    "migrations": "times a thread of a run moved to another processor",
    "context_switches": "context switches of a run",
    "page_faults": "page faults of a run, minor and major",
}


def _counts(per_operation: bool) -> list[Column]:
    columns = []
    for key, meaning in (_PER_OPERATION | _PER_RUN).items():
        heading = key.replace("_", " ")
        if per_operation and key in _PER_OPERATION:
            columns.append(
                _column(f"{heading} per op", f"{meaning} divided by its operations", _divided(key))
            )
        else:
            columns.append(_column(heading, meaning, _count(key)))
    return columns


def _count(key: str) -> _Value:
    return lambda run: run.meters.get(key)


def _divided(key: str) -> _Value:
    def value(run: Run) -> float | None:
        operations = run.details.get("operations")
        return run.meters[key] / operations if operations and key in run.meters else None

    return value
