"""A broadcast to many waiters: time and context switches until all have run their sections."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockwright.base.numbers import plain
from lockwright.experiment import (
    TIMEOUT,
    Cell,
    Column,
    Experiment,
    Figure,
    Outcome,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.run.bench_program import LIBC, number
from lockwright.run.tools import Line

from lockwright_lab.bench import runs

DEFAULT_LOCKS = ["futex", "pthread", "mcs-stp", "ttas"]

_wall = runs.over_lines("broadcast", lambda line: number(line, "wall_ns"))


def _per_waiter(kind: str) -> runs.Value:
    return runs.over_lines("broadcast", lambda line: number(line, kind) / number(line, "waiters"))


def _switches(line: Line) -> float:
    return number(line, "voluntary") + number(line, "involuntary")


WALL = Figure(
    "wall_ms",
    "ms",
    lower_is_better=True,
    definition="milliseconds from just before pthread_cond_broadcast until the last waiter has run "
    "its section; the median broadcast of a run; median over the rounds.",
    heading="ms per broadcast",
    value=runs.over_lines("broadcast", lambda line: number(line, "wall_ns") / 1e6),
)
TIME_RATIO = Figure(
    "time_ratio",
    "",
    lower_is_better=True,
    definition="per round, that time divided by that of a libc run right before or after it; median"
    " over the rounds. Lower is better.",
    heading="time ratio",
    value=runs.to_libc(_wall),
)
SWITCHES = [
    Figure(f"{kind}_per_waiter", "", lower_is_better=True, value=_per_waiter(kind))
    for kind in ("voluntary", "involuntary")
]
SWITCH_RATIO = Figure(
    "switch_ratio",
    "",
    lower_is_better=True,
    definition="per round, all switches divided by those of the libc run beside it; median. Lower "
    "is better.",
    heading="switch ratio",
    value=runs.to_libc(runs.over_lines("broadcast", _switches)),
)
CALL = Figure(
    "call_ms",
    "ms",
    lower_is_better=True,
    definition="milliseconds of it that the broadcasting thread spent in pthread_cond_broadcast and"
    " the pthread_mutex_unlock before or after it.",
    heading="call ms",
    value=runs.over_lines("broadcast", lambda line: number(line, "call_ns") / 1e6),
)


def _time(row: Summary) -> str:
    killed = next((run for run in row.runs if run.ended == TIMEOUT), None)
    if killed is None:
        return make.with_spread(WALL).text(row)
    broadcasts = sum(line.get("kind") == "broadcast" for line in killed.details["lines"])
    return f"collapsed: {broadcasts} broadcasts in {killed.wall:.1f} s"


def _ahead(row: Summary) -> str:
    ratios = [row.over_rounds(each) for each in ("time_ratio", "switch_ratio")]
    known = [each.median for each in ratios if each is not None]
    if row.contender == LIBC or len(known) < 2:
        return ""
    return "yes" if max(known) < 1 else "NO"


COLUMNS = [
    make.name(definition=runs.LOCK),
    Column(WALL.heading, WALL.definition, _time),
    make.own_ratio(TIME_RATIO),
    Column(
        "switches/waiter",
        "context switches of the whole process (getrusage), voluntary + involuntary, from the "
        "broadcast until every waiter is parked again, divided by the number of waiters. That "
        "last sleep is one switch, so 1 is the least possible value.",
        make.joined(*map(make.median, SWITCHES)),
    ),
    make.own_ratio(SWITCH_RATIO),
    make.median(CALL),
    Column("ahead", "yes if the medians of both ratios are below 1.", _ahead),
]


def _run(call: runs.Call) -> Outcome:
    made = runs.beside_libc(call)
    final = runs.line(made, "final")
    expected = final and number(final, "waiters") * number(final, "rounds")
    if made.finished and (final is None or number(final, "sections") != expected):
        return replace(made, ended="failed", note="not every waiter ran its section")
    return made


def herd(
    common: runs.Common, options: Mapping[str, object], sections_ns: Sequence[float]
) -> Experiment:
    """Return the experiment. options: of the measuring program, without the section."""
    waiters = plain(float(str(options["waiters"])))
    cells = [Cell(f"section {plain(ns)} ns", {"section-ns": ns}) for ns in sections_ns]
    return runs.experiment(
        "herd",
        common,
        [WALL, TIME_RATIO, *SWITCHES, SWITCH_RATIO, CALL],
        [TableOf(COLUMNS, lambda cell: f"Broadcast to {waiters} waiters, {cell.name}")],
        options,
        cells,
        make=_run,
        first=runs.calibration,
    )
