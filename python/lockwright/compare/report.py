"""The content of a finished comparison's report, in every format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lockwright.compare import metered, stats, verdict, warnings
from lockwright.compare.stats import Summary
from lockwright.compare.store import Comparison
from lockwright.compare.verdict import Verdict
from lockwright.machine.meters import Meters
from lockwright.run.record import Record


@dataclass(frozen=True)
class Report:
    """The report on a comparison. tables: summaries at each number of threads, in the plan's order,
    the best first; meter_tables: energy and counters, likewise; remarks: on these. more: parts of
    the JSON file that only some comparisons have."""

    comparison: Comparison
    title: str
    records: Sequence[Record]
    tables: Sequence[Sequence[Summary]]
    warnings: Sequence[str]
    verdict: Verdict
    meter_tables: Sequence[metered.Table] = ()
    remarks: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def make(
    comparison: Comparison, title: str, records: Sequence[Record], meters: Meters | None = None
) -> Report:
    """Return the report on all runs of a comparison. meters: those of its runs."""
    plan = comparison.plan
    tables = [stats.summarise(plan, records, threads) for threads in plan.threads]
    if comparison.has_fixed_time:
        tables = [[replace(row, ratio=None, mark="") for row in rows] for rows in tables]
    return Report(
        comparison,
        title,
        records,
        tables,
        warnings.collect(plan, records),
        verdict.FIXED_TIME if comparison.has_fixed_time else verdict.decide(plan, tables),
        metered.tables(plan, records, meters.idle if meters else None),
        meters.notes() if meters else [],
    )
