"""More and more threads on one mutex: whether they get on as fast as few do, and every one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from lockwright.base.numbers import plain
from lockwright.bench.report import LOCK, Column, Report, progress, rotated, table, watching_others
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats.spread import Spread, format_ratio, spread

KEEPS = 0.7
"""Share of its throughput with one thread a processor that a lock which restricts concurrency has
to keep with more. The C library's mutex keeps about 0.9."""

RESTRICTING = ("malth-stp", "loiter", "lifo-cr", "shfllock-stp")
"""The locks that have to, beside those named `gcr-...`."""

ENOUGH = 0.75
"""Share of the processors that the fewest threads have to get, or a warning is printed: where they
hardly run at the same time, they do not contend, and there is nothing to keep."""

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
        "as kept, but of the acquisitions per second of processor time that the process used. "
        "Where other processes leave it more of the processors in one run than in the next, this "
        "is the steadier figure; it does not see a processor that the lock leaves idle.",
    ),
    Column(
        "ratio to libc",
        "acquisitions/s divided by those of libc with as many threads in the same round; median "
        "over the rounds. Higher is better.",
    ),
    Column(
        "longest wait ms",
        "milliseconds from the call of pthread_mutex_lock to the end of the section, the longest "
        "of all threads and rounds. Time for which the thread was ready to run but others ran is "
        "in it.",
    ),
    Column(
        "least in 1 s",
        "acquisitions of the thread that got fewest in any second of any round; seconds begin "
        "ten times a second. 0: a thread made no progress for a second. '-' where no run lasted "
        "as long.",
    ),
    Column("cpus", "processor time that the process used per second; median over the rounds."),
    Column(
        "bound",
        f"for a lock that restricts concurrency: whether the median of kept is {KEEPS} or more "
        "and every thread made progress in every second. 'timed out': a run did not end by itself "
        "and was killed; the figures are those of the time before.",
    ),
]


@dataclass
class _Tally:
    """The results of one lock at one number of threads: one value for each round, by round."""

    rate: dict[int, float] = field(default_factory=dict)
    per_cpu: dict[int, float] = field(default_factory=dict)
    cpus: list[float] = field(default_factory=list)
    longest: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    section_ns: list[float] = field(default_factory=list)
    gap_ns: list[float] = field(default_factory=list)
    timed_out: int = 0
    lost_exclusion: bool = False


def is_bound(name: str) -> bool:
    """Whether that lock has to keep its throughput."""
    return name in RESTRICTING or name.startswith("gcr-")


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    thread_counts: Sequence[int],
    timeout: float,
) -> list[Table]:
    """Fills `report`, and returns a table per thread count.

    `arguments` are those of the measuring program, without the number of threads. A lock's runs
    with all numbers of threads follow one another: what drifts has little time to.
    """
    tallies = {(s.name, t): _Tally() for s in chosen for t in thread_counts}
    steps_in_all = rounds * len(chosen) * len(thread_counts)
    with watching_others(report), progress("oversubscribe", steps_in_all) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                for threads in in_order(thread_counts, round_number):
                    steps.step(f"{subject.name}, {threads} threads")
                    given = {**arguments, "threads": threads}
                    outcome = run(subject, "oversubscribe", given, timeout=timeout)
                    report.record(subject, round_number, outcome, threads=threads)
                    _take(report, subject, round_number, outcome, tallies[subject.name, threads])
    return [_table(report, chosen, t, min(thread_counts), tallies) for t in thread_counts]


def in_order(thread_counts: Sequence[int], round_number: int) -> list[int]:
    """Upwards and downwards by turns."""
    return list(thread_counts) if round_number % 2 == 0 else list(reversed(thread_counts))


def _take(
    report: Report, subject: Subject, round_number: int, outcome: Outcome, tally: _Tally
) -> None:
    line = outcome.line("measured")
    if outcome.timed_out:
        tally.timed_out += 1
    if line is not None and (outcome.timed_out or not outcome.failure):
        seconds, used = number(line, "seconds"), number(line, "processor_seconds")
        tally.rate[round_number] = number(line, "acquisitions") / seconds
        if used:
            tally.per_cpu[round_number] = number(line, "acquisitions") / used
        tally.cpus.append(used / seconds)
        tally.longest.append(number(line, "longest_wait_ns"))
        if "least_in_a_second" in line:
            tally.least.append(number(line, "least_in_a_second"))
        tally.section_ns.append(number(line, "section_ns"))
        tally.gap_ns.append(number(line, "gap_ns"))
    tally.lost_exclusion |= not report.keeps_exclusion(subject, outcome)


def _ratios(figures: Mapping[int, float], others: Mapping[int, float]) -> Spread | None:
    """Round by round."""
    return spread(
        [
            figures[round_number] / others[round_number]
            for round_number in figures
            if others.get(round_number)
        ]
    )


def _table(
    report: Report,
    chosen: list[Subject],
    threads: int,
    fewest: int,
    tallies: Mapping[tuple[str, int], _Tally],
) -> Table:
    shown = table(f"{threads} threads", COLUMNS)
    for subject in chosen:
        tally, alone = tallies[subject.name, threads], tallies[subject.name, fewest]
        kept = _ratios(tally.rate, alone.rate)
        per_cpu = _ratios(tally.per_cpu, alone.per_cpu)
        ratio = _ratios(tally.rate, tallies[LIBC, threads].rate)
        rate, cpus = spread(list(tally.rate.values())), spread(tally.cpus)
        longest = max(tally.longest, default=None)
        least = min(tally.least, default=None)
        holds = None
        if is_bound(subject.name) and threads > fewest and kept is not None:
            holds = kept.median >= KEEPS and least != 0 and not tally.timed_out
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
                "section_ns": spread(tally.section_ns),
                "gap_ns": spread(tally.gap_ns),
                "timed_out": tally.timed_out,
                "lost_exclusion": tally.lost_exclusion,
                "holds": holds,
            }
        )
        verdict = "" if holds is None else f">= {KEEPS:.2f} {'holds' if holds else 'MISSED'}"
        shown.add_row(
            subject.name,
            "-" if rate is None else plain(rate.median / 1000),
            format_ratio(kept),
            "-" if per_cpu is None else f"{per_cpu.median:.3f}",
            format_ratio(ratio),
            "-" if longest is None else plain(longest / 1e6),
            "-" if least is None else plain(least),
            "-" if cpus is None else f"{cpus.median:.2f}",
            "timed out" if tally.timed_out else verdict,
        )
    return shown


def remarks(report: Report, processors: int) -> list[str]:
    """Return what a reader must know of a measured report before relying on it. processors: those
    that the process may use.
    """
    said = []
    first = next((row for row in report.rows if row["lock"] == LIBC), None)
    if first is not None:
        section, gap = first["section_ns"], first["gap_ns"]
        if isinstance(section, Spread) and isinstance(gap, Spread):
            said.append(
                f"{processors} processors; {section.median:.0f} ns of work in a section, "
                f"{gap.median:.0f} ns between two."
            )
        cpus, threads = first["cpus"], first["threads"]
        if isinstance(cpus, Spread) and isinstance(threads, int):
            possible = min(threads, processors)
            if cpus.median < ENOUGH * possible:
                said.append(
                    f"Warning: {threads} threads of libc got {cpus.median:.1f} processors, not "
                    f"{possible}: they hardly contended, so what is kept of that says little."
                )
    return said
