"""Threads that contend for one mutex: the rate of acquisitions, and the kernel's work."""

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
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats.spread import Spread, format_ratio, format_spread, spread
from rich.table import Table

DEFAULT_LOCKS = ["mcs-stp", "clh-stp", "futex", "pthread"]
"""The locks that park, and the C library's mutex through the same layer."""

CONTENDING_SHARE = 0.75
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
        "was killed at its time limit is marked as collapsed, with its acquisitions and seconds.",
    ),
    Column(
        "ratio to libc",
        "per round, this lock's acquisitions/s divided by those of a libc run right before or "
        "after it; median over the rounds. Higher is better.",
    ),
    Column("bound", "the ratio that this lock has to reach; MISSED if the median is below."),
    Column(
        "fairness",
        "acquisitions of the thread with the fewest divided by those of the thread with the most, "
        "within one run; median over the rounds. 1 is even.",
    ),
]

CALLS = [
    Column("lock", "as above."),
    Column(
        "contended",
        "share of the acquisitions that found the mutex held, counted by the lock's counting "
        "library in separate runs; median over the rounds.",
    ),
    Column(
        "waits per acq",
        "futex wait calls per acquisition, counted likewise. '-' for the C library's own calls, "
        "which are not counted.",
    ),
    Column("wakes per acq", "futex wake calls per acquisition, counted likewise."),
    Column(
        "wakes per wait",
        "futex wake calls per futex wait call. At 1, each parked thread was woken by one call, and "
        "no call was made for a thread that was awake.",
    ),
    Column(
        "cpus",
        "processor time that the process used per second of the measurement, runs under the "
        "plain library; median over the rounds. At about 1, the threads hardly ran at the same "
        "time, because other programs had the processors.",
    ),
    Column(
        "switches per 1000 acq",
        "context switches of the whole process, voluntary + involuntary, per 1000 acquisitions "
        "(getrusage, runs under the plain library); medians over the rounds.",
    ),
]

COLUMNS = [*SPEED, *CALLS[1:]]

DETAILS = (
    *("contended_share", "waits_per_acquisition", "wakes_per_acquisition", "wakes_per_wait"),
    *("cpus", "voluntary_per_1000", "involuntary_per_1000"),
)
"""The figures of CALLS, in the order of the columns."""


@dataclass
class _LockResults:
    """The figures of one lock at one number of threads by name, one value per round."""

    figures: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
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
    results = {(s.name, t): _LockResults() for s in chosen for t in thread_counts}
    steps_in_all = rounds * len(chosen) * len(thread_counts)
    with watching_others(report), progress("handover", steps_in_all) as steps:
        for round_number in range(rounds):
            for threads in thread_counts:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {threads} threads")
                    lock_results = results[subject.name, threads]
                    if not lock_results.collapsed:
                        options = {**arguments, "threads": threads}
                        _run_round(report, subject, round_number, options, timeout, lock_results)
    tables = []
    for threads in thread_counts:
        tables += _tables(report, threads, {s.name: results[s.name, threads] for s in chosen})
    return tables


def _run_round(
    report: Report,
    subject: Subject,
    round_number: int,
    options: Mapping[str, object],
    timeout: float,
    results: _LockResults,
) -> None:
    threads = options["threads"]
    own, beside = beside_libc(
        report, subject, round_number, "handover", options, timeout, threads=threads
    )
    figures = results.figures
    line = own.line("measured")
    libc = beside.line("measured")
    if own.timed_out:
        results.collapsed = _collapse(own)
    if line is not None and (own.timed_out or not own.failure):
        acquired = number(line, "acquisitions")
        rate = acquired / number(line, "seconds")
        figures["rate"].append(rate)
        figures["cpus"].append(number(line, "processor_seconds") / number(line, "seconds"))
        if libc is not None and not beside.failure:
            libc_rate = number(libc, "acquisitions") / number(libc, "seconds")
            figures["ratio"].append(rate / libc_rate)
        if acquired:
            for kind in ("voluntary", "involuntary"):
                figures[f"{kind}_per_1000"].append(1000 * number(line, kind) / acquired)
        if number(line, "most"):
            figures["fairness"].append(number(line, "least") / number(line, "most"))
    results.lost_exclusion |= not report.keeps_exclusion(subject, own)
    if subject.counting is None or results.collapsed:
        return
    counted = run(subject, "handover", options, timeout=timeout, counting=True)
    report.record(subject, round_number, counted, threads=threads, counting=True)
    results.lost_exclusion |= not report.keeps_exclusion(subject, counted)
    counts = counted.counts
    if counted.failure or counts is None or not counts.acquisitions:
        return
    figures["contended_share"].append(counts.contended / counts.acquisitions)
    if subject.lock is not None and subject.lock.category == "library":
        return
    figures["waits_per_acquisition"].append(counts.futex_waits / counts.acquisitions)
    figures["wakes_per_acquisition"].append(counts.futex_wakes / counts.acquisitions)
    if counts.futex_waits:
        figures["wakes_per_wait"].append(counts.futex_wakes / counts.futex_waits)


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
        if cpus.median < CONTENDING_SHARE * possible:
            texts.append(
                f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                f"{possible}: they hardly contended, so these ratios say little about contention."
            )
    return texts


def _tables(report: Report, threads: int, by_lock: Mapping[str, _LockResults]) -> list[Table]:
    speed = empty_table(f"{threads} threads: speed", SPEED)
    calls = empty_table(f"{threads} threads: work of the kernel", CALLS)
    for lock, results in by_lock.items():
        rate, ratio, fairness = (spread(results.figures[f]) for f in ("rate", "ratio", "fairness"))
        details = {name: spread(results.figures[name]) for name in DETAILS}
        holds = None
        if lock == BOUND[0] and ratio is not None:
            holds = ratio.median >= BOUND[1] and not results.collapsed
        report.rows.append(
            {
                "lock": lock,
                "threads": threads,
                "acquisitions_per_second": rate,
                "ratio": ratio,
                "fairness": fairness,
                **details,
                "collapsed": results.collapsed,
                "lost_exclusion": results.lost_exclusion,
                "holds": holds,
            }
        )
        verdict = "" if holds is None else f">= {BOUND[1]:.2f} {'holds' if holds else 'MISSED'}"
        speed.add_row(
            lock,
            results.collapsed or format_spread(rate, 1000),
            format_ratio(ratio),
            verdict,
            _median(fairness),
        )
        *medians, voluntary, involuntary = map(_median, details.values())
        calls.add_row(lock, *medians, f"{voluntary} + {involuntary}")
    return [speed, calls]


def _median(figures: Spread | None) -> str:
    return "-" if figures is None else plain(figures.median)
