"""The cost of parking and unparking, with which spinning competes."""

import os
from collections.abc import Mapping

from lockwright.experiment import Contender, Experiment, Figure, Outcome, TableOf
from lockwright.experiment import columns as make
from lockwright.run.bench_program import LIBC, Subject

from lockwright_lab.bench import runs

_trip = runs.field("result", "median_trip_ns")

FIGURES = [
    Figure(
        "round_trip_ns",
        "ns",
        lower_is_better=True,
        definition="nanoseconds from before a thread wakes the other (futex wake) until the other "
        "has woken it: two sleeps, two wakes. Median of a run's trips; median over the rounds.",
        heading="round trip ns",
        value=_trip,
    ),
    Figure(
        "one_way_ns",
        "ns",
        lower_is_better=True,
        definition="half the round trip: from one thread's wake call to the other running.",
        heading="one way ns",
        value=lambda made: None if (trip := _trip(made)) is None else trip / 2,
    ),
    Figure(
        "wake_call_ns",
        "ns",
        lower_is_better=True,
        definition="nanoseconds that the waking thread spends in the call, likewise. On one "
        "processor the woken thread may run before the call returns.",
        heading="wake call ns",
        value=runs.field("result", "median_wake_ns"),
    ),
    Figure(
        "sleeps_per_trip",
        "",
        definition="voluntary context switches per trip. At 2, both threads slept in each trip.",
        heading="slept",
        value=runs.field("result", "voluntary", "trips"),
    ),
]

COLUMNS = [
    make.name(
        "placement",
        "the processors of the two threads: free (chosen by the scheduler), two, or one.",
    ),
    *map(make.with_spread, FIGURES),
]


def park(common: runs.Common, options: Mapping[str, object]) -> Experiment:
    """Return the experiment, whose contenders are placements. options: of the measuring program."""
    allowed = sorted(os.sched_getaffinity(0))
    placements = {"free": (-1, -1)}
    if len(allowed) > 1:
        placements["two processors"] = (allowed[0], allowed[1])
    placements["one processor"] = (allowed[0], allowed[0])

    def run(call: runs.Call) -> Outcome:
        first, second = placements[call.contender.name]
        return call.having({"cpu-a": first, "cpu-b": second}).run()

    return runs.experiment(
        "park",
        common,
        FIGURES,
        [TableOf(COLUMNS, lambda _: "Sleeping and waking by futex, two threads")],
        options,
        make=run,
        contenders=[Contender(name, subject=Subject(LIBC)) for name in placements],
        what="placement",
    )
