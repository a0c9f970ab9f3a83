"""A broadcast to many waiters: time and context switches until all have run their sections."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.table import Table

from lockwright.base.numbers import plain
from lockwright.bench.report import (
    LOCK,
    Column,
    Report,
    beside_libc,
    progress,
    rotated,
    table,
    watching_others,
)
from lockwright.run.bench_program import LIBC, Outcome, Subject, number
from lockwright.stats.spread import format_ratio, format_spread, spread

DEFAULT_LOCKS = ["futex", "pthread", "mcs-stp", "ttas"]

COLUMNS = [
    LOCK,
    Column(
        "ms per broadcast",
        "milliseconds from just before pthread_cond_broadcast until the last waiter has done its "
        "section under the mutex; the median broadcast of a run; median over the rounds.",
    ),
    Column(
        "time ratio",
        "per round, that time divided by the one of a libc run right before or after it; median "
        "over the rounds. Lower is better.",
    ),
    Column(
        "switches/waiter",
        "context switches of the whole process (getrusage), voluntary + involuntary, from the "
        "broadcast until every waiter is asleep again, divided by the number of waiters. That "
        "last sleep is one switch: 1 is the least there can be.",
    ),
    Column(
        "switch ratio",
        "per round, all switches divided by those of the libc run beside it; median. "
        "Lower is better.",
    ),
    Column(
        "call ms",
        "milliseconds of it that the broadcasting thread itself spent in pthread_cond_broadcast "
        "and the pthread_mutex_unlock beside it.",
    ),
    Column("ahead", "whether both ratios' medians are below 1."),
]


@dataclass
class _Tally:
    """The figures of one lock with one section length, one value per round."""

    wall_ms: list[float] = field(default_factory=list)
    time_ratio: list[float] = field(default_factory=list)
    voluntary: list[float] = field(default_factory=list)
    involuntary: list[float] = field(default_factory=list)
    switch_ratio: list[float] = field(default_factory=list)
    call_ms: list[float] = field(default_factory=list)
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
    tallies = {(s.name, ns): _Tally() for s in chosen for ns in sections_ns}
    with (
        watching_others(report),
        progress("herd", rounds * len(chosen) * len(sections_ns)) as steps,
    ):
        for round_number in range(rounds):
            for section in sections_ns:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {plain(section)} ns")
                    tally = tallies[subject.name, section]
                    if not tally.collapsed:
                        given = {**arguments, "section-ns": section}
                        own, beside = beside_libc(
                            report,
                            subject,
                            round_number,
                            "herd",
                            given,
                            timeout,
                            section_ns=section,
                        )
                        _add(report, subject, tally, own, beside)
    waiters = plain(float(str(arguments["waiters"])))
    return [
        _table(
            report,
            chosen,
            section,
            f"Broadcast to {waiters} waiters, section {plain(section)} ns",
            tallies,
        )
        for section in sections_ns
    ]


def _add(report: Report, subject: Subject, tally: _Tally, own: Outcome, beside: Outcome) -> None:
    if own.timed_out:
        done = sum(line.get("kind") == "broadcast" for line in own.lines)
        tally.collapsed = f"collapsed: {done} broadcasts in {own.seconds:.1f} s"
        return
    if own.failure or beside.failure:
        return
    final = own.line("final")
    expected = final and number(final, "waiters") * number(final, "rounds")
    if final is None or number(final, "sections") != expected:
        report.failures.append(f"{subject.name}: not every waiter ran its section")
        return
    wall, other_wall = (_middle(o, "wall_ns") for o in (own, beside))
    voluntary, involuntary = (_middle(own, kind) for kind in ("voluntary", "involuntary"))
    other_switches = _middle(beside, "voluntary") + _middle(beside, "involuntary")
    waiters = number(final, "waiters")
    tally.wall_ms.append(wall / 1e6)
    tally.time_ratio.append(wall / other_wall)
    tally.voluntary.append(voluntary / waiters)
    tally.involuntary.append(involuntary / waiters)
    tally.switch_ratio.append((voluntary + involuntary) / other_switches)
    tally.call_ms.append(_middle(own, "call_ns") / 1e6)


def _middle(outcome: Outcome, name: str) -> float:
    """Return the median over a run's broadcasts."""
    return statistics.median(
        number(line, name) for line in outcome.lines if line.get("kind") == "broadcast"
    )


def _table(
    report: Report,
    chosen: list[Subject],
    section: float,
    title: str,
    tallies: Mapping[tuple[str, float], _Tally],
) -> Table:
    shown = table(title, COLUMNS)
    for subject in chosen:
        tally = tallies[subject.name, section]
        time_ratio, switch_ratio = spread(tally.time_ratio), spread(tally.switch_ratio)
        ahead = None
        if time_ratio is not None and switch_ratio is not None and subject.name != LIBC:
            ahead = time_ratio.median < 1 and switch_ratio.median < 1
        wall, call = spread(tally.wall_ms), spread(tally.call_ms)
        voluntary, involuntary = spread(tally.voluntary), spread(tally.involuntary)
        report.rows.append(
            {
                "lock": subject.name,
                "section_ns": section,
                "wall_ms": wall,
                "time_ratio": time_ratio,
                "voluntary_per_waiter": voluntary,
                "involuntary_per_waiter": involuntary,
                "switch_ratio": switch_ratio,
                "call_ms": call,
                "collapsed": tally.collapsed,
                "ahead": ahead,
            }
        )
        if tally.collapsed or voluntary is None or involuntary is None or call is None:
            shown.add_row(subject.name, tally.collapsed or "-", *["-"] * 5)
            continue
        shown.add_row(
            subject.name,
            format_spread(wall),
            format_ratio(time_ratio),
            f"{plain(voluntary.median)} + {plain(involuntary.median)}",
            format_ratio(switch_ratio),
            plain(call.median),
            "" if ahead is None else "yes" if ahead else "NO",
        )
    return shown
