"""The cost of an uncontended lock."""

from collections.abc import Mapping

from lockwright.calibrate.report import (
    LOCK,
    Column,
    Report,
    beside_libc,
    empty_table,
    progress,
    rotated,
    watching_others,
)
from lockwright.run.bench_program import Outcome, Subject, number
from lockwright.stats.spread import format_ratio, format_spread, spread
from rich.table import Table

BOUNDS = {"ttas": 1.0, "ticket": 1.0, "mcs-spin": 1.6}
"""The largest ratio to the C library's cost that Lockwright promises, by lock."""

COLUMNS = [
    LOCK,
    Column(
        "ns per pair",
        "nanoseconds for one pthread_mutex_lock and one pthread_mutex_unlock of a mutex that no "
        "other thread uses, called in a loop. A run times batches of pairs and reports its "
        "fastest batch; median over the rounds.",
    ),
    Column(
        "ratio to libc",
        "per round, this lock's figure divided by that of a libc run right before or after it; "
        "median over the rounds. Lower is better. libc against itself shows the effect of noise.",
    ),
    Column("bound", "the largest allowed ratio of this lock; MISSED if the median is above."),
]


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and returns the table; `arguments` are those of the measuring program."""
    pairs: dict[str, list[float]] = {s.name: [] for s in chosen}
    ratios: dict[str, list[float]] = {s.name: [] for s in chosen}
    with watching_others(report), progress("uncontended", rounds * len(chosen)) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                steps.step(subject.name)
                outcomes = beside_libc(
                    report, subject, round_number, "uncontended", arguments, timeout
                )
                cost, libc_cost = map(_cost, outcomes)
                if cost and libc_cost:
                    pairs[subject.name].append(cost)
                    ratios[subject.name].append(cost / libc_cost)
    table = empty_table("One thread, no contention", COLUMNS)
    for subject in chosen:
        costs, ratio = spread(pairs[subject.name]), spread(ratios[subject.name])
        bound = BOUNDS.get(subject.name)
        holds = None if bound is None or ratio is None else ratio.median <= bound
        report.rows.append(
            {
                "lock": subject.name,
                "ns_per_pair": costs,
                "ratio": ratio,
                "bound": bound,
                "holds": holds,
            }
        )
        verdict = "" if holds is None else f"<= {bound:.2f} {'holds' if holds else 'MISSED'}"
        table.add_row(subject.name, format_spread(costs), format_ratio(ratio), verdict)
    return [table]


def _cost(outcome: Outcome) -> float | None:
    line = outcome.line("result")
    return None if line is None or outcome.failure else number(line, "min_ns_per_pair")
