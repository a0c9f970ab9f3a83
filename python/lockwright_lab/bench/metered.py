"""The meters of a benchmark's runs: energy and counters, per operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.calibrate.report import Column, Report, empty_table
from lockwright.machine import meters
from lockwright.machine.meters import Idle
from lockwright.stats.spread import Spread, format_spread, spread
from rich.table import Table

OPERATIONS = ("operations", "acquisitions", "pairs", "sections", "trips")
"""Fields with the number of operations of a workload; the first that exists is used."""

_NOT_LABELS = {"lock", "round", "beside", "seconds", "failure", "lines", "counts", "meters"}
_NOT_LABELS |= {"metered", "counting"}
"""Keys of a run that are no labels, see Report.record."""

RUN = Column("run", "the lock, and the other labels of its runs.")

Value = Callable[[Mapping[str, float], float | None, Idle | None], float | None]
"""A function of the meters of a run, its operations if known, and the idle power."""


@dataclass(frozen=True)
class Figure:
    """A figure of the table. unit: the divisor of the printed values. energy: True if it needs
    energy counters."""

    key: str
    column: Column
    value: Value
    unit: float = 1.0
    energy: bool = False


def _joules_per_operation(
    values: Mapping[str, float], operations: float | None, _: Idle | None
) -> float | None:
    joules = meters.total_joules(values)
    return joules / operations if joules is not None and operations else None


def _operations_per_joule(
    values: Mapping[str, float], operations: float | None, _: Idle | None
) -> float | None:
    joules = meters.total_joules(values)
    return operations / joules if joules and operations else None


def _per_operation(key: str) -> Value:
    def value(
        values: Mapping[str, float], operations: float | None, _: Idle | None
    ) -> float | None:
        return values[key] / operations if key in values and operations else None

    return value


def _in_all(key: str) -> Value:
    def value(values: Mapping[str, float], _: float | None, __: Idle | None) -> float | None:
        return values.get(key)

    return value


FIGURES = (
    Figure(
        "watts",
        Column("watts", "mean power of all packages, and of their memory where it has a counter."),
        lambda values, _, __: meters.total_watts(values),
        energy=True,
    ),
    Figure(
        "watts_above_idle",
        Column(
            "above idle",
            "those watts less the power of the same domains before the first run.",
        ),
        lambda values, _, idle: meters.above_idle(values, idle),
        energy=True,
    ),
    Figure(
        "joules_per_operation",
        Column("uJ per op", "microjoules divided by operations (EPO)."),
        _joules_per_operation,
        1e-6,
        energy=True,
    ),
    Figure(
        "operations_per_joule",
        Column(
            "ops per J",
            "operations divided by joules, which is throughput divided by power (TPP).",
        ),
        _operations_per_joule,
        energy=True,
    ),
    *(
        Figure(
            f"{key}_per_operation",
            Column(f"{key.replace('_', ' ')} per op", f"{what} divided by operations."),
            _per_operation(key),
        )
        for key, what in (
            ("cycles", "processor cycles of the whole run"),
            ("instructions", "its instructions"),
            ("cache_misses", "its misses of the last cache"),
        )
    ),
    *(
        Figure(key, Column(key.replace("_", " "), f"{what}, in the whole run."), _in_all(key))
        for key, what in (
            ("migrations", "migrations of its threads to another processor"),
            ("context_switches", "context switches of its threads"),
            ("page_faults", "page faults, minor and major"),
        )
    ),
)
"""The figures. Energy is that of the measurement if a workload marks it. All other figures, the
energy of other workloads and the operations are of the whole run, with its start and end."""


def operations(lines: Sequence[Mapping[str, Any]], measured: bool = False) -> float | None:
    """Return the number of operations of a run, from its last line that has one; None if unknown.

    measured: only those of its measurement.
    """
    for name in OPERATIONS:
        counts = [
            line[name]
            for line in lines
            if isinstance(line.get(name), int | float)
            and (not measured or line.get("kind") == "measured")
        ]
        if counts:
            return float(counts[-1])
    return None


def _value(figure: Figure, run: Mapping[str, Any], idle: Idle | None) -> float | None:
    values = run["meters"]
    measured = figure.energy and meters.WINDOWED in values
    return figure.value(values, operations(run["lines"], measured), idle)


def tables(report: Report) -> list[Table]:
    """Add the figures to the report, and return the table; none without figures."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in report.runs:
        # The operations of a failed run are unknown. Other meters take energy themselves.
        others = run.get("metered") or run.get("counting")
        if run["failure"] or others or not run["meters"]:
            continue
        labels = [f"{k} {v}" for k, v in run.items() if k not in _NOT_LABELS]
        groups.setdefault((str(run["lock"]), *labels), []).append(run)
    idle = report.meters.idle if report.meters else None
    results: dict[tuple[str, ...], dict[str, Spread]] = {}
    for name, runs in groups.items():
        results[name] = {}
        for figure in FIGURES:
            values = [v for run in runs if (v := _value(figure, run, idle)) is not None]
            if (over_runs := spread(values)) is not None:
                results[name][figure.key] = over_runs
        report.meter_rows.append({"run": list(name), **results[name]})
    known = [each for each in FIGURES if any(each.key in row for row in results.values())]
    if not known:
        return []
    table = empty_table("Energy and counters", [RUN, *(each.column for each in known)])
    for name, row in results.items():
        texts = (format_spread(row.get(each.key), each.unit) for each in known)
        table.add_row(", ".join(name), *texts)
    return [table]
