"""Everything a finished comparison has to say, gathered for whoever shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.compare import stats, verdict, warnings
from lockwright.compare.record import Record
from lockwright.compare.stats import Summary
from lockwright.compare.store import Comparison
from lockwright.compare.verdict import Verdict


@dataclass(frozen=True)
class Report:
    """tables: one list of summaries per number of threads, in the plan's order, best first."""

    comparison: Comparison
    title: str
    records: Sequence[Record]
    tables: Sequence[Sequence[Summary]]
    warnings: Sequence[str]
    verdict: Verdict


def make(comparison: Comparison, title: str, records: Sequence[Record]) -> Report:
    """The report on all runs of a comparison."""
    plan = comparison.plan
    tables = [stats.summarise(plan, records, threads) for threads in plan.threads]
    return Report(
        comparison,
        title,
        records,
        tables,
        warnings.collect(plan, records),
        verdict.decide(plan, tables),
    )
