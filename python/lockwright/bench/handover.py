"""Threads that contend for one mutex: the rate of acquisitions, and the kernel's work."""

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
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats.spread import Spread, format_ratio, format_spread, spread

DEFAULT_LOCKS = ["mcs-stp", "clh-stp", "futex", "pthread"]
"""The locks that park, and the C library's mutex through the same layer."""

ENOUGH = 0.75
"""Share of the processors below which a warning is printed. With two, at 1.5 both threads run at
once for half of the time; below that, most acquisitions are uncontended."""

BOUND = ("futex", 0.95)
"""`futex` has to reach this share of the C library's throughput."""

SPEED = [
    LOCK,
    Column(
        "thousand acq/s",
        "acquisitions: sections that all threads together completed, in thousands per second of "
        "the measurement, in a run under the plain library; median over the rounds. A run that "
        "could not end by itself is shown as collapsed, with the acquisitions that it made in "
        "how many seconds.",
    ),
    Column(
        "ratio to libc",
        "per round, this lock's acquisitions/s divided by those of a libc run right before or "
        "after it; median over the rounds. Higher is better.",
    ),
    Column("bound", "the ratio that this lock has to reach, and whether the median does."),
    Column(
        "fairness",
        "acquisitions of the thread that got fewest divided by those of the thread that got "
        "most, within one run; median over the rounds. 1 is even.",
    ),
]

CALLS = [
    Column("lock", "as above."),
    Column(
        "contended",
        "share of the acquisitions that found the mutex held, counted by the lock's counting "
        "library in runs of their own; median over the rounds.",
    ),
    Column(
        "waits per acq",
        "futex wait calls per acquisition, counted likewise. '-' where the calls are the C "
        "library's own, which nobody counts.",
    ),
    Column("wakes per acq", "futex wake calls per acquisition, counted likewise."),
    Column(
        "wakes per wait",
        "futex wake calls per futex wait call. 1 means that each sleeper was woken by one call, "
        "and no call was made for one that was still awake.",
    ),
    Column(
        "cpus",
        "processor time that the process used per second of the measurement, runs under the "
        "plain library; median over the rounds. Where it is about 1, the threads hardly ran at "
        "the same time, whatever their number, because others had the processors.",
    ),
    Column(
        "switches per 1000 acq",
        "context switches of the whole process, voluntary + involuntary, per 1000 acquisitions "
        "(getrusage, runs under the plain library); medians over the rounds.",
    ),
]

COLUMNS = [*SPEED, *CALLS[1:]]


@dataclass
class _Tally:
    """The figures of one lock at one number of threads, one value per round."""

    rate: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    wakes: list[float] = field(default_factory=list)
    wakes_per_wait: list[float] = field(default_factory=list)
    contended: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    voluntary: list[float] = field(default_factory=list)
    involuntary: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)
    collapsed: str = ""
    lost_exclusion: bool = False


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    thread_counts: list[int],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and return two tables per thread count.

    `arguments` are those of the measuring program, without the number of threads.
    """
    tallies = {(s.name, t): _Tally() for s in chosen for t in thread_counts}
    steps_in_all = rounds * len(chosen) * len(thread_counts)
    with watching_others(report), progress("handover", steps_in_all) as steps:
        for round_number in range(rounds):
            for threads in thread_counts:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {threads} threads")
                    tally = tallies[subject.name, threads]
                    if not tally.collapsed:
                        given = {**arguments, "threads": threads}
                        _run_round(report, subject, round_number, given, timeout, tally)
    return [
        one
        for threads in thread_counts
        for one in _tables(
            report, chosen, threads, {s.name: tallies[s.name, threads] for s in chosen}
        )
    ]


def _run_round(
    report: Report,
    subject: Subject,
    round_number: int,
    given: Mapping[str, object],
    timeout: float,
    tally: _Tally,
) -> None:
    threads = given["threads"]
    own, beside = beside_libc(
        report, subject, round_number, "handover", given, timeout, threads=threads
    )
    line = own.line("measured")
    other = beside.line("measured")
    if own.timed_out:
        tally.collapsed = _collapse(own)
    if line is not None and (own.timed_out or not own.failure):
        acquired = number(line, "acquisitions")
        rate = acquired / number(line, "seconds")
        tally.rate.append(rate)
        tally.cpus.append(number(line, "processor_seconds") / number(line, "seconds"))
        if other is not None and not beside.failure:
            tally.ratio.append(rate / (number(other, "acquisitions") / number(other, "seconds")))
        if acquired:
            tally.voluntary.append(1000 * number(line, "voluntary") / acquired)
            tally.involuntary.append(1000 * number(line, "involuntary") / acquired)
        if number(line, "most"):
            tally.fairness.append(number(line, "least") / number(line, "most"))
    tally.lost_exclusion |= not report.keeps_exclusion(subject, own)
    if subject.counting is None or tally.collapsed:
        return
    counted = run(subject, "handover", given, timeout=timeout, counting=True)
    report.record(subject, round_number, counted, threads=threads, counting=True)
    tally.lost_exclusion |= not report.keeps_exclusion(subject, counted)
    counts = counted.counts
    if counted.failure or counts is None or not counts.acquisitions:
        return
    tally.contended.append(counts.contended / counts.acquisitions)
    if subject.lock is not None and subject.lock.category == "library":
        return
    tally.waits.append(counts.futex_waits / counts.acquisitions)
    tally.wakes.append(counts.futex_wakes / counts.acquisitions)
    if counts.futex_waits:
        tally.wakes_per_wait.append(counts.futex_wakes / counts.futex_waits)


def _collapse(outcome: Outcome) -> str:
    line = outcome.line("measured")
    if line is None:
        return f"collapsed: nothing measured in {outcome.seconds:.1f} s"
    return (
        f"collapsed: {plain(number(line, 'acquisitions'))} acq in {number(line, 'seconds'):.1f} s"
    )


def remarks(report: Report, processors: int) -> list[str]:
    """Return the remarks on a report. processors: number that the process may use."""
    texts = [f"{processors} processors."]
    for row in report.rows:
        cpus, threads = row["cpus"], row["threads"]
        if row["lock"] != LIBC or not isinstance(cpus, Spread) or not isinstance(threads, int):
            continue
        possible = min(threads, processors)
        if cpus.median < ENOUGH * possible:
            texts.append(
                f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                f"{possible}: they hardly contended, so these ratios say little about contention."
            )
    return texts


def _tables(
    report: Report, chosen: list[Subject], threads: int, tallies: Mapping[str, _Tally]
) -> list[Table]:
    speed = table(f"{threads} threads: speed", SPEED)
    calls = table(f"{threads} threads: work of the kernel", CALLS)
    for subject in chosen:
        tally = tallies[subject.name]
        rate, ratio = spread(tally.rate), spread(tally.ratio)
        fairness = spread(tally.fairness)
        details = {
            "contended_share": spread(tally.contended),
            "waits_per_acquisition": spread(tally.waits),
            "wakes_per_acquisition": spread(tally.wakes),
            "wakes_per_wait": spread(tally.wakes_per_wait),
            "cpus": spread(tally.cpus),
            "voluntary_per_1000": spread(tally.voluntary),
            "involuntary_per_1000": spread(tally.involuntary),
        }
        holds = None
        if subject.name == BOUND[0] and ratio is not None:
            holds = ratio.median >= BOUND[1] and not tally.collapsed
        report.rows.append(
            {
                "lock": subject.name,
                "threads": threads,
                "acquisitions_per_second": rate,
                "ratio": ratio,
                "fairness": fairness,
                **details,
                "collapsed": tally.collapsed,
                "lost_exclusion": tally.lost_exclusion,
                "holds": holds,
            }
        )
        verdict = "" if holds is None else f">= {BOUND[1]:.2f} {'holds' if holds else 'MISSED'}"
        speed.add_row(
            subject.name,
            tally.collapsed or format_spread(rate, 1000),
            format_ratio(ratio),
            verdict,
            _median(fairness),
        )
        middle = [_median(figures) for figures in details.values()]
        calls.add_row(subject.name, *middle[:-2], f"{middle[-2]} + {middle[-1]}")
    return [speed, calls]


def _median(figures: Spread | None) -> str:
    return "-" if figures is None else plain(figures.median)
