"""Threads that contend for one mutex: the rate of acquisitions, and the kernel's work."""

from collections.abc import Mapping, Sequence

from lockwright.base.numbers import plain
from lockwright.experiment import Cell, Column, Experiment, Figure, Outcome, TableOf
from lockwright.experiment import columns as make
from lockwright.experiment.summary import Summary
from lockwright.run.bench_program import LIBC, number

from lockwright_lab.bench import runs

DEFAULT_LOCKS = ["mcs-stp", "clh-stp", "futex", "pthread"]
"""The locks that park, and the C library's mutex through the same layer."""

CONTENDING_SHARE = 0.75
"""Share of the processors below which a warning is printed. With two, at 1.5 both threads run at
once for half of the time; below that, most acquisitions are uncontended."""

BOUND = ("futex", 0.95)
"""`futex` has to reach this share of the C library's throughput."""

_rate = runs.field("measured", "acquisitions", "seconds")

RATE = Figure(
    "rate",
    "1/s",
    definition="acquisitions: sections that all threads together completed, in thousands per second"
    " of the measurement, in a run under the plain library; median over the rounds. A run that was "
    "killed at its time limit is marked as collapsed, with its acquisitions and seconds.",
    heading="thousand acq/s",
    scale=1000,
    value=_rate,
)
RATIO = Figure(
    "ratio",
    "",
    definition="per round, this lock's acquisitions/s divided by those of a libc run right before "
    "or after it; median over the rounds. Higher is better.",
    heading="ratio to libc",
    value=runs.to_libc(_rate),
)
FAIRNESS = Figure(
    "fairness",
    "",
    definition="acquisitions of the thread with the fewest divided by those of the thread with the "
    "most, within one run; median over the rounds. 1 is even.",
    value=runs.field("measured", "least", "most"),
)
CPUS = Figure(
    "cpus",
    "",
    definition="processor time that the process used per second of the measurement, runs under the "
    "plain library; median over the rounds. At about 1, the threads hardly ran at the same time, "
    "because other programs had the processors.",
    value=runs.field("measured", "processor_seconds", "seconds"),
)
COUNTS = [
    Figure(
        "contended_share",
        "",
        definition="share of the acquisitions that found the mutex held, counted by the lock's "
        "counting library in separate runs; median over the rounds.",
        heading="contended",
        value=runs.counted("contended", "acquisitions"),
    ),
    Figure(
        "waits_per_acquisition",
        "",
        definition="futex wait calls per acquisition, counted likewise. '-' for the C library's own"
        " calls, which are not counted.",
        heading="waits per acq",
        value=runs.counted("futex_waits", "acquisitions"),
    ),
    Figure(
        "wakes_per_acquisition",
        "",
        definition="futex wake calls per acquisition, counted likewise.",
        heading="wakes per acq",
        value=runs.counted("futex_wakes", "acquisitions"),
    ),
    Figure(
        "wakes_per_wait",
        "",
        definition="futex wake calls per futex wait call. At 1, each parked thread was woken by one"
        " call, and no call was made for a thread that was awake.",
        heading="wakes per wait",
        value=runs.counted("futex_wakes", "futex_waits"),
    ),
]
SWITCHES = [
    Figure(
        f"{kind}_per_1000",
        "",
        definition=f"{kind} context switches of the process per 1000 acquisitions",
        value=runs.field("measured", kind, "acquisitions", 1000),
    )
    for kind in ("voluntary", "involuntary")
]


def _speed(row: Summary) -> str:
    killed = next((run for run in row.runs if run.ended == "timeout"), None)
    if killed is None:
        return make.with_spread(RATE).text(row)
    line = runs.line(killed, "measured")
    if line is None:
        return f"collapsed: nothing measured in {killed.wall:.1f} s"
    return (
        f"collapsed: {plain(number(line, 'acquisitions'))} acq in {number(line, 'seconds'):.1f} s"
    )


def _bound(row: Summary) -> str:
    name, least = BOUND
    ratio = row.over_rounds("ratio")
    if row.contender != name or ratio is None:
        return ""
    holds = ratio.median >= least and not row.timeouts
    return f">= {least:.2f} {'holds' if holds else 'MISSED'}"


SPEED = [
    make.name(definition=runs.LOCK),
    Column("thousand acq/s", RATE.definition, _speed),
    make.own_ratio(RATIO),
    Column(
        "bound", "the ratio that this lock has to reach; MISSED if the median is below.", _bound
    ),
    make.median(FAIRNESS),
]
CALLS = [
    make.name(),
    *map(make.median, COUNTS),
    make.median(CPUS),
    Column(
        "switches per 1000 acq",
        "context switches of the whole process, voluntary + involuntary, per 1000 acquisitions "
        "(getrusage, runs under the plain library); medians over the rounds.",
        make.joined(*map(make.median, SWITCHES)),
    ),
]
COLUMNS = [*SPEED, *CALLS[1:]]


def remarks(cells: Sequence[Sequence[Summary]]) -> list[str]:
    """Return a warning for each number of threads that hardly contended."""
    texts = [f"{runs.processors()} processors."]
    for row in (row for rows in cells for row in rows):
        cpus, threads = row.over_rounds("cpus"), int(row.of_cell.options["threads"])
        possible = min(threads, runs.processors())
        if row.contender == LIBC and cpus and cpus.median < CONTENDING_SHARE * possible:
            texts.append(
                f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                f"{possible}: they hardly contended, so these ratios say little about contention."
            )
    return texts


def _run(call: runs.Call) -> Outcome:
    return runs.also_counted(runs.beside_libc(call), call)


def handover(
    common: runs.Common, options: Mapping[str, object], thread_counts: Sequence[int]
) -> Experiment:
    """Return the experiment. options: of the measuring program, without the number of threads."""
    return runs.experiment(
        "handover",
        common,
        [RATE, RATIO, FAIRNESS, *COUNTS, CPUS, *SWITCHES],
        [
            TableOf(SPEED, lambda cell: f"{cell.name}: speed"),
            TableOf(CALLS, lambda cell: f"{cell.name}: work of the kernel"),
        ],
        options,
        [Cell(f"{count} threads", {"threads": count}) for count in thread_counts],
        make=_run,
        remarks=remarks,
        first=runs.calibration,
    )
