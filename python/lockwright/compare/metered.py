"""Energy and counters of the runs of a comparison, for each lock."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lockwright.base.numbers import plain
from lockwright.compare.plan import Plan
from lockwright.machine import meters
from lockwright.machine.meters import Idle
from lockwright.run import record
from lockwright.run.record import Record


@dataclass(frozen=True)
class Column:
    """A column of the table: heading, meaning, and the value of one run, None if missing."""

    heading: str
    meaning: str
    value: Callable[[Record], float | None]


def _columns(plan: Plan, idle: Idle | None) -> list[Column]:
    energy = [
        Column(
            "watts",
            "mean power of all packages, and of their memory if it has a counter",
            lambda run: meters.total_watts(run.meters),
        ),
        Column(
            "above idle",
            "those watts minus the idle machine's before the first run",
            lambda run: meters.above_idle(run.meters, idle),
        ),
        Column("J per run", "joules of the whole run", lambda run: meters.total_joules(run.meters)),
    ]
    if plan.metric is not None and not plan.lower_is_better:
        unit = plan.unit
        unit = f"{unit[:-2]}/J" if unit.endswith("/s") else f"{unit}/W"
        energy.append(Column(unit, "the figure divided by the watts of its run (TPP)", _per_watt))
    counts = [
        Column(name.replace("_", " "), meaning, _count(name))
        for name, meaning in (
            ("cycles", "processor cycles in a run"),
            ("instructions", "instructions in a run"),
            ("cache_misses", "misses of the last-level cache in a run"),
            ("migrations", "times a thread of a run moved to another processor"),
            ("context_switches", "context switches of a run"),
            ("page_faults", "page faults of a run, minor and major"),
        )
    ]
    return [*(energy if plan.energy else []), *(counts if plan.counters else [])]


def _count(name: str) -> Callable[[Record], float | None]:
    return lambda run: run.meters.get(name)


def _per_watt(run: Record) -> float | None:
    watts = meters.total_watts(run.meters)
    return run.value / watts if run.value is not None and watts else None


@dataclass(frozen=True)
class Table:
    """Medians over the counted runs that ended: headings, and a row of texts for each lock.
    medians: the same as numbers, by lock and heading."""

    threads: int
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    medians: Mapping[str, Mapping[str, float]]


def tables(plan: Plan, records: Sequence[Record], idle: Idle | None) -> list[Table]:
    """Return a table for each number of threads with measured figures."""
    measured = []
    for threads in plan.threads:
        medians = {
            lock: _medians(
                _columns(plan, idle),
                [
                    run
                    for run in records
                    if (run.threads, run.lock) == (threads, lock)
                    and run.counted
                    and run.outcome == record.FINISHED
                ],
            )
            for lock in plan.locks
        }
        headings = [
            column.heading
            for column in _columns(plan, idle)
            if any(column.heading in values for values in medians.values())
        ]
        rows = [
            (lock, *(plain(values[h]) if h in values else "-" for h in headings))
            for lock, values in medians.items()
        ]
        if headings:
            measured.append(Table(threads, ("lock", *headings), tuple(rows), medians))
    return measured


def _medians(columns: Sequence[Column], runs: Sequence[Record]) -> dict[str, float]:
    medians = {}
    for column in columns:
        values = [value for run in runs if (value := column.value(run)) is not None]
        if values:
            medians[column.heading] = statistics.median(values)
    return medians


def legend(plan: Plan, printed: Sequence[Table]) -> list[tuple[str, str]]:
    """Return the meaning of the columns of these tables."""
    used = {heading for table in printed for heading in table.headings}
    return [(c.heading, c.meaning) for c in _columns(plan, None) if c.heading in used]
