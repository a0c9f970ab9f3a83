"""The tables and sentences of a comparison with published runs."""

import statistics
from collections.abc import Sequence

from lockwright.calibrate.report import Column, empty_table
from rich.table import Table

from lockwright_lab.bench.validation.published import GOAL, Agreement, median

COLUMNS = [
    Column("application", "a lock-sensitive application of the published data."),
    Column("skeleton", "the family of its first generic program, or its profile."),
    Column("nodes", "its largest published number of NUMA nodes."),
    Column("best/worst", "the published throughput of its best lock over that of its worst."),
    Column("locks", "the number of locks that are compared: those of no fit."),
    Column("predicted", "Kendall's tau-b between predicted and published throughputs."),
    Column("itself", "the same of random halves of the published runs."),
    Column("other machine", "the same of the other machine's published throughputs."),
    Column("mean rank", "the same of the locks' mean rank over the other applications."),
]

_REFERENCES = ("predicted", "itself", "other machine", "mean rank")


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def medians(found: Sequence[Agreement]) -> dict[str, float | None]:
    """Return the median of each column of tau-b."""
    return {name: median([each.values()[name] for each in found]) for name in _REFERENCES}


def agreement_table(found: Sequence[Agreement], title: str) -> Table:
    """Return the table of the applications, the best prediction first."""
    table = empty_table(title, COLUMNS)
    for each in sorted(found, key=lambda one: -(one.predicted or 0.0)):
        table.add_row(
            each.application,
            each.family,
            str(each.nodes),
            f"{each.spread:.1f}",
            str(each.locks),
            *map(_text, each.values().values()),
        )
    table.add_section()
    table.add_row("median", "", "", "", "", *map(_text, medians(found).values()))
    return table


def class_table(found: Sequence[Agreement]) -> Table:
    """Return the medians of the applications of each family."""
    columns = [COLUMNS[1], Column("applications", "their number."), *COLUMNS[5:]]
    table = empty_table("By family, medians", columns)
    for family in sorted({each.family for each in found}):
        of_family = [each for each in found if each.family == family]
        table.add_row(family, str(len(of_family)), *map(_text, medians(of_family).values()))
    return table


def sentences(found: Sequence[Agreement], sets: Sequence[float]) -> list[str]:
    """Return the figures of the validation. sets: the medians for other sets of locks."""
    values = [each.predicted for each in found if each.predicted is not None]
    if not values:
        return ["No application has three locks to compare."]
    middle = statistics.median(values)
    enough = sum(value >= GOAL for value in values)
    lines = [
        f"Predicted, median tau-b of {len(values)} lock-sensitive applications: {middle:.2f}; the "
        f"goal is {GOAL:g} ({'met' if middle >= GOAL else 'not met'}). {enough} reach it."
    ]
    if sets:
        lines.append(
            f"Estimated from {len(sets)} other sets of four locks: medians of {min(sets):.2f} to "
            f"{max(sets):.2f}, in the middle {statistics.median(sets):.2f}."
        )
    return lines
