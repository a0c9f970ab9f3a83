"""A broadcast to many waiters: time and context switches until all have run their sections."""

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from lockwright.base.numbers import plain
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
from lockwright.run.bench_program import LIBC, Outcome, Subject, number
from lockwright.stats.spread import format_ratio, format_spread, spread
from rich.table import Table

DEFAULT_LOCKS = ["futex", "pthread", "mcs-stp", "ttas"]

COLUMNS = [
    LOCK,
    Column(
        "ms per broadcast",
        "milliseconds from just before pthread_cond_broadcast until the last waiter has run its "
        "section; the median broadcast of a run; median over the rounds.",
    ),
    Column(
        "time ratio",
        "per round, that time divided by that of a libc run right before or after it; median over "
        "the rounds. Lower is better.",
    ),
    Column(
        "switches/waiter",
        "context switches of the whole process (getrusage), voluntary + involuntary, from the "
        "broadcast until every waiter is parked again, divided by the number of waiters. That "
        "last sleep is one switch, so 1 is the least possible value.",
    ),
    Column(
        "switch ratio",
        "per round, all switches divided by those of the libc run beside it; median. "
        "Lower is better.",
    ),
    Column(
        "call ms",
        "milliseconds of it that the broadcasting thread spent in pthread_cond_broadcast and the "
        "pthread_mutex_unlock before or after it.",
    ),
    Column("ahead", "yes if the medians of both ratios are below 1."),
]


@dataclass
class _LockResults:
    """The figures of one lock with one section length by name, one value per round."""

    figures: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    collapsed: str = ""


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    sections_ns: list[float],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and return a table per section length.

    `arguments` are those of the measuring program, without the section.
    """
    results = {(s.name, ns): _LockResults() for s in chosen for ns in sections_ns}
    steps_in_all = rounds * len(chosen) * len(sections_ns)
    with watching_others(report), progress("herd", steps_in_all) as steps:
        for round_number in range(rounds):
            for section in sections_ns:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {plain(section)} ns")
                    if results[subject.name, section].collapsed:
                        continue
                    options = {**arguments, "section-ns": section}
                    labels = {"section_ns": section}
                    own, beside = beside_libc(
                        report, subject, round_number, "herd", options, timeout, **labels
                    )
                    _add(report, subject, results[subject.name, section], own, beside)
    waiters = plain(float(str(arguments["waiters"])))
    return [
        _table(
            report,
            section,
            f"Broadcast to {waiters} waiters, section {plain(section)} ns",
            {subject.name: results[subject.name, section] for subject in chosen},
        )
        for section in sections_ns
    ]


def _add(
    report: Report, subject: Subject, results: _LockResults, own: Outcome, beside: Outcome
) -> None:
    if own.timed_out:
        broadcasts = sum(line.get("kind") == "broadcast" for line in own.lines)
        results.collapsed = f"collapsed: {broadcasts} broadcasts in {own.seconds:.1f} s"
        return
    if own.failure or beside.failure:
        return
    final = own.line("final")
    expected = final and number(final, "waiters") * number(final, "rounds")
    if final is None or number(final, "sections") != expected:
        report.failures.append(f"{subject.name}: not every waiter ran its section")
        return
    wall, libc_wall = (_median(outcome, "wall_ns") for outcome in (own, beside))
    voluntary, involuntary = (_median(own, kind) for kind in ("voluntary", "involuntary"))
    libc_switches = _median(beside, "voluntary") + _median(beside, "involuntary")
    waiters = number(final, "waiters")
    for name, value in (
        ("wall_ms", wall / 1e6),
        ("time_ratio", wall / libc_wall),
        ("voluntary_per_waiter", voluntary / waiters),
        ("involuntary_per_waiter", involuntary / waiters),
        ("switch_ratio", (voluntary + involuntary) / libc_switches),
        ("call_ms", _median(own, "call_ns") / 1e6),
    ):
        results.figures[name].append(value)


def _median(outcome: Outcome, name: str) -> float:
    """Return the median over a run's broadcasts."""
    return statistics.median(
        number(line, name) for line in outcome.lines if line.get("kind") == "broadcast"
    )


def _table(
    report: Report, section: float, title: str, by_lock: Mapping[str, _LockResults]
) -> Table:
    table = empty_table(title, COLUMNS)
    names = ("wall_ms", "time_ratio", "voluntary_per_waiter", "involuntary_per_waiter")
    for lock, results in by_lock.items():
        row = {name: spread(results.figures[name]) for name in (*names, "switch_ratio", "call_ms")}
        wall, time_ratio, voluntary, involuntary, switch_ratio, call = row.values()
        ahead = None
        if time_ratio is not None and switch_ratio is not None and lock != LIBC:
            ahead = time_ratio.median < 1 and switch_ratio.median < 1
        facts = {"collapsed": results.collapsed, "ahead": ahead}
        report.rows.append({"lock": lock, "section_ns": section, **row, **facts})
        if results.collapsed or voluntary is None or involuntary is None or call is None:
            table.add_row(lock, results.collapsed or "-", *["-"] * 5)
            continue
        table.add_row(
            lock,
            format_spread(wall),
            format_ratio(time_ratio),
            f"{plain(voluntary.median)} + {plain(involuntary.median)}",
            format_ratio(switch_ratio),
            plain(call.median),
            "" if ahead is None else "yes" if ahead else "NO",
        )
    return table
