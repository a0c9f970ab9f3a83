"""The cost of parking and unparking, with which spinning competes."""

import os
from collections.abc import Mapping

from lockwright.calibrate.report import Column, Report, empty_table, progress, watching_others
from lockwright.run.bench_program import LIBC, Subject, number, run
from lockwright.stats.spread import format_spread, spread
from rich.table import Table

COLUMNS = [
    Column(
        "placement",
        "the processors of the two threads: free (chosen by the scheduler), two, or one.",
    ),
    Column(
        "round trip ns",
        "nanoseconds from before a thread wakes the other (futex wake) until the other has woken "
        "it: two sleeps, two wakes. Median of a run's trips; median over the rounds.",
    ),
    Column("one way ns", "half the round trip: from one thread's wake call to the other running."),
    Column(
        "wake call ns",
        "nanoseconds that the waking thread spends in the call, likewise. On one processor the "
        "woken thread may run before the call returns.",
    ),
    Column(
        "slept",
        "voluntary context switches per trip. At 2, both threads slept in each trip.",
    ),
]


def measure(
    report: Report, rounds: int, arguments: Mapping[str, object], timeout: float
) -> list[Table]:
    """Fill `report`, and return the table; `arguments` are those of the measuring program."""
    allowed = sorted(os.sched_getaffinity(0))
    placements = {"free": (-1, -1)}
    if len(allowed) > 1:
        placements["two processors"] = (allowed[0], allowed[1])
    placements["one processor"] = (allowed[0], allowed[0])
    figures: dict[str, dict[str, list[float]]] = {
        name: {"trip": [], "wake": [], "slept": []} for name in placements
    }
    subject = Subject(LIBC)
    with watching_others(report), progress("park", rounds * len(placements)) as steps:
        for round_number in range(rounds):
            for name, (first, second) in placements.items():
                steps.step(name)
                options = {**arguments, "cpu-a": first, "cpu-b": second}
                outcome = run(subject, "park", options, timeout=timeout)
                report.record(subject, round_number, outcome, placement=name)
                line = outcome.line("result")
                if line is not None and not outcome.failure:
                    results = figures[name]
                    results["trip"].append(number(line, "median_trip_ns"))
                    results["wake"].append(number(line, "median_wake_ns"))
                    results["slept"].append(number(line, "voluntary") / number(line, "trips"))
    table = empty_table("Sleeping and waking by futex, two threads", COLUMNS)
    for name, results in figures.items():
        trip, wake, slept = (spread(results[key]) for key in ("trip", "wake", "slept"))
        report.rows.append(
            {
                "placement": name,
                "round_trip_ns": trip,
                "one_way_ns": None if trip is None else trip.median / 2,
                "wake_call_ns": wake,
                "sleeps_per_trip": slept,
            }
        )
        texts = (format_spread(figure) for figure in (wake, slept))
        table.add_row(name, format_spread(trip), format_spread(trip, 2), *texts)
    return [table]
