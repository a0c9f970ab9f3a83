"""The meters of a benchmark's runs: energy and counters, per operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from lockwright.bench.report import Column, Report, table
from lockwright.machine import meters
from lockwright.machine.meters import Idle
from lockwright.stats.spread import Spread, format_spread, spread

OPERATIONS = ("operations", "acquisitions", "pairs", "sections", "trips")
"""Fields with the number of operations of a workload; the first that exists is used."""

_NOT_LABELS = {"lock", "round", "beside", "seconds", "failure", "lines", "counts", "meters"}
_NOT_LABELS |= {"metered", "counting"}
"""Keys of a run that are no labels, see Report.record."""

LOCK = Column("run", "the lock, and the other labels of these runs.")

Value = Callable[[Mapping[str, float], float | None, Idle | None], float | None]
"""A function of the meters of a run, its operations if known, and the idle power."""


@dataclass(frozen=True)
class Figure:
    """A figure of the table. unit: the divisor of the printed values. energy: whether it needs
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
            "those watts less what the same domains took before the first run, when nothing ran.",
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
            ("cache_misses", "its accesses that the last cache did not serve"),
        )
    ),
    *(
        Figure(key, Column(key.replace("_", " "), f"{what}, in the whole run."), _in_all(key))
        for key, what in (
            ("migrations", "how often one of its threads went on on another processor"),
            ("context_switches", "how often one of its threads left a processor to another"),
            ("page_faults", "page faults, minor and major"),
        )
    ),
)
"""The figures. Energy is that of the measurement, where a workload marks it. All else, and the
energy of other workloads, is of the whole run with its start and end; so are operations."""


def operations(lines: Sequence[Mapping[str, Any]], measured: bool = False) -> float | None:
    """Return the number of operations of a run from its last line, which includes those at its end;
    None if unknown. measured: only those of its measurement.
    """
    for name in OPERATIONS:
        found = [
            line[name]
            for line in lines
            if isinstance(line.get(name), int | float)
            and (not measured or line.get("kind") == "measured")
        ]
        if found:
            return float(found[-1])
    return None


def _value(figure: Figure, run: Mapping[str, Any], idle: Idle | None) -> float | None:
    values = run["meters"]
    # Energy may be that of the measurement alone; counters are of the whole run.
    measured = figure.energy and meters.WINDOWED in values
    return figure.value(values, operations(run["lines"], measured), idle)


def tables(report: Report) -> list[Table]:
    """Add the figures to the report, and return the table; none without figures."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run in report.runs:
        # The operations of a failed run are unknown. Other meters use energy themselves.
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
            if (found := spread(values)) is not None:
                results[name][figure.key] = found
        report.meter_rows.append({"run": list(name), **results[name]})
    shown = [each for each in FIGURES if any(each.key in found for found in results.values())]
    if not shown:
        return []
    built = table("Energy and counters", [LOCK, *(each.column for each in shown)])
    for name, figures in results.items():
        built.add_row(
            ", ".join(name), *(format_spread(figures.get(each.key), each.unit) for each in shown)
        )
    return [built]
