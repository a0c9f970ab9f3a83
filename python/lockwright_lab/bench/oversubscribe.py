"""Increasing numbers of threads on one mutex: throughput, and progress of every thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    LOCK,
    Column,
    Report,
    empty_table,
    progress,
    rotated,
    watching_others,
)
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats.spread import Spread, format_ratio, spread
from rich.table import Table

LEAST_KEPT = 0.7
"""Least throughput with many threads of a lock that restricts concurrency, as a share of that with
a thread for each processor. The C library's mutex has about 0.9."""

RESTRICTING = ("malth-stp", "loiter", "lifo-cr", "shfllock-stp")
"""The locks that restrict concurrency, beside those named `gcr-...`."""

CONTENDING_SHARE = 0.75
"""Share of the processors that the fewest threads have to get, else a warning is printed: threads
that hardly run at the same time do not contend, and their throughput is no reference."""

COLUMNS = [
    LOCK,
    Column(
        "thousand acq/s",
        "acquisitions: sections that all threads together completed, in thousands per second; "
        "median over the rounds.",
    ),
    Column(
        "kept",
        "acquisitions/s divided by those of the same lock, in the same round, with the fewest "
        "threads of the comparison; median over the rounds. Higher is better.",
    ),
    Column(
        "kept per cpu",
        "the same quotient of the acquisitions per second of processor time that the process used. "
        "It is the steadier figure if other processes take a varying share of the processors; it "
        "does not include processors that the lock leaves idle.",
    ),
    Column(
        "ratio to libc",
        "acquisitions/s divided by those of libc with as many threads in the same round; median "
        "over the rounds. Higher is better.",
    ),
    Column(
        "longest wait ms",
        "milliseconds from the call of pthread_mutex_lock to the end of the section, the longest "
        "of all threads and rounds, with the time for which the thread was runnable but did not "
        "run.",
    ),
    Column(
        "least in 1 s",
        "least acquisitions of a thread in any second of any round; seconds begin ten times a "
        "second. 0: a thread made no progress for a second. '-' if no run lasted as long.",
    ),
    Column("cpus", "processor time that the process used per second; median over the rounds."),
    Column(
        "bound",
        f"for a lock that restricts concurrency: holds if the median of kept is {LEAST_KEPT} or "
        "more and every thread made progress in every second. 'timed out': a run was killed at its "
        "time limit; the figures are those of the time before.",
    ),
]


@dataclass
class _LockResults:
    """The results of one lock at one number of threads, by round or in their order."""

    rate: dict[int, float] = field(default_factory=dict)
    per_cpu: dict[int, float] = field(default_factory=dict)
    cpus: list[float] = field(default_factory=list)
    longest: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    section_ns: list[float] = field(default_factory=list)
    gap_ns: list[float] = field(default_factory=list)
    timed_out: int = 0
    lost_exclusion: bool = False


def restricts_concurrency(name: str) -> bool:
    """Return True if the lock has to keep its throughput with many threads."""
    return name in RESTRICTING or name.startswith("gcr-")


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    thread_counts: Sequence[int],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and return a table per thread count.

    `arguments` are those of the measuring program, without the number of threads. A lock's runs
    with all numbers of threads follow one another, so that a drift affects them little.
    """
    results = {(s.name, t): _LockResults() for s in chosen for t in thread_counts}
    steps_in_all = rounds * len(chosen) * len(thread_counts)
    with watching_others(report), progress("oversubscribe", steps_in_all) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                # Upwards and downwards, alternating.
                for threads in thread_counts if round_number % 2 == 0 else thread_counts[::-1]:
                    steps.step(f"{subject.name}, {threads} threads")
                    options = {**arguments, "threads": threads}
                    outcome = run(subject, "oversubscribe", options, timeout=timeout)
                    report.record(subject, round_number, outcome, threads=threads)
                    lock_results = results[subject.name, threads]
                    lock_results.lost_exclusion |= not report.keeps_exclusion(subject, outcome)
                    _add(round_number, outcome, lock_results)
    return [_table(report, chosen, t, min(thread_counts), results) for t in thread_counts]


def _add(round_number: int, outcome: Outcome, results: _LockResults) -> None:
    line = outcome.line("measured")
    results.timed_out += outcome.timed_out
    if line is not None and (outcome.timed_out or not outcome.failure):
        seconds, used = number(line, "seconds"), number(line, "processor_seconds")
        results.rate[round_number] = number(line, "acquisitions") / seconds
        if used:
            results.per_cpu[round_number] = number(line, "acquisitions") / used
        results.cpus.append(used / seconds)
        results.longest.append(number(line, "longest_wait_ns"))
        if "least_in_a_second" in line:
            results.least.append(number(line, "least_in_a_second"))
        results.section_ns.append(number(line, "section_ns"))
        results.gap_ns.append(number(line, "gap_ns"))


def _ratios(figures: Mapping[int, float], others: Mapping[int, float]) -> Spread | None:
    """Return the quotients of the figures of each round."""
    return spread([figure / others[n] for n, figure in figures.items() if others.get(n)])


def _table(
    report: Report,
    chosen: list[Subject],
    threads: int,
    fewest: int,
    results: Mapping[tuple[str, int], _LockResults],
) -> Table:
    table = empty_table(f"{threads} threads", COLUMNS)
    for subject in chosen:
        own, reference = results[subject.name, threads], results[subject.name, fewest]
        kept = _ratios(own.rate, reference.rate)
        per_cpu = _ratios(own.per_cpu, reference.per_cpu)
        ratio = _ratios(own.rate, results[LIBC, threads].rate)
        rate, cpus = spread(list(own.rate.values())), spread(own.cpus)
        longest = max(own.longest, default=None)
        least = min(own.least, default=None)
        holds = None
        if restricts_concurrency(subject.name) and threads > fewest and kept is not None:
            holds = kept.median >= LEAST_KEPT and least != 0 and not own.timed_out
        report.rows.append(
            {
                "lock": subject.name,
                "threads": threads,
                "acquisitions_per_second": rate,
                "kept": kept,
                "kept_per_processor_second": per_cpu,
                "ratio": ratio,
                "longest_wait_ns": longest,
                "least_in_a_second": least,
                "cpus": cpus,
                "section_ns": spread(own.section_ns),
                "gap_ns": spread(own.gap_ns),
                "timed_out": own.timed_out,
                "lost_exclusion": own.lost_exclusion,
                "holds": holds,
            }
        )
        verdict = "" if holds is None else f">= {LEAST_KEPT:.2f} {'holds' if holds else 'MISSED'}"
        table.add_row(
            subject.name,
            "-" if rate is None else plain(rate.median / 1000),
            format_ratio(kept),
            "-" if per_cpu is None else f"{per_cpu.median:.3f}",
            format_ratio(ratio),
            "-" if longest is None else plain(longest / 1e6),
            "-" if least is None else plain(least),
            "-" if cpus is None else f"{cpus.median:.2f}",
            "timed out" if own.timed_out else verdict,
        )
    return table


def remarks(report: Report, processors: int) -> list[str]:
    """Return the remarks on a report. processors: number that the process may use."""
    texts = []
    first = next((row for row in report.rows if row["lock"] == LIBC), None)
    if first is not None:
        section, gap = first["section_ns"], first["gap_ns"]
        if isinstance(section, Spread) and isinstance(gap, Spread):
            texts.append(
                f"{processors} processors; {section.median:.0f} ns of work in a section, "
                f"{gap.median:.0f} ns between two."
            )
        cpus, threads = first["cpus"], first["threads"]
        if isinstance(cpus, Spread) and isinstance(threads, int):
            possible = min(threads, processors)
            if cpus.median < CONTENDING_SHARE * possible:
                texts.append(
                    f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                    f"{possible}: they hardly contended, so a share of that rate means little."
                )
    return texts
