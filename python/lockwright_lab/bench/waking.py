"""Threads that wake others: a broadcast to many waiters, and two threads that take turns."""

import os
from collections.abc import Sequence
from dataclasses import replace

from lockwright.experiment import TIMEOUT, Contender, Outcome, Summary
from lockwright.experiment.columns import no_value
from lockwright.run.bench_program import LIBC, Subject, number
from lockwright.stats.spread import format_spread

from lockwright_lab.bench import runs
from lockwright_lab.bench.measurement import Given, Measurement


def _time(row: Summary) -> str:
    killed = next((run for run in row.runs if run.ended == TIMEOUT), None)
    if killed is None:
        time = row.over_rounds("wall_ms")
        return format_spread(time) if time else no_value(row)
    broadcasts = sum(line.get("kind") == "broadcast" for line in killed.details["lines"])
    return f"collapsed: {broadcasts} broadcasts in {killed.wall:.1f} s"


def _ahead(row: Summary) -> str:
    ratios = [row.over_rounds(each) for each in ("time_ratio", "switch_ratio")]
    known = [each.median for each in ratios if each is not None]
    if row.contender == LIBC or len(known) < 2:
        return ""
    return "yes" if max(known) < 1 else "NO"


def _broadcast(call: runs.Call) -> Outcome:
    made = runs.beside_libc(call)
    final = runs.line(made, "final")
    expected = final and number(final, "waiters") * number(final, "rounds")
    if made.finished and (final is None or number(final, "sections") != expected):
        return replace(made, ended="failed", note="not every waiter ran its section")
    return made


HERD = Measurement(
    "herd", {"wall_ms": _time, "ahead": _ahead}, run=_broadcast, first=runs.calibration
)


def _placements(_: Given) -> Sequence[Contender]:
    """Return the placements of two threads, with the processors of both; -1 for any."""
    allowed = sorted(os.sched_getaffinity(0))
    placements = {"free": (-1, -1), "two processors": tuple(allowed[:2])}
    placements["one processor"] = (allowed[0], allowed[0])
    return [Contender(name, subject=on) for name, on in placements.items() if len(on) == 2]


def _trips(call: runs.Call) -> Outcome:
    first, second = call.contender.subject
    libc = replace(call.contender, subject=Subject(LIBC))
    return call.under(libc).having({"cpu-a": first, "cpu-b": second}).run()


PARK = Measurement("park", contenders=_placements, run=_trips)
