"""Readers and writers of one reader-writer lock, under each of them."""

from collections.abc import Mapping, Sequence
from statistics import median

from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    Column,
    Report,
    empty_table,
    progress,
    rotated,
    watching_others,
)
from lockwright.preload import locks
from lockwright.preload.rwlocks import KEEP, MUTEX, rwlocks
from lockwright.run.bench_program import LIBC, Outcome, Subject, number, run
from lockwright.stats.inference import median_interval
from lockwright.stats.spread import spread
from rich.table import Table

COLUMNS = [
    Column(
        "lock",
        "libc: the C library's reader-writer lock without any library; keep: the same through "
        "Lockwright's library; mutex: the lock --mutex, under which readers exclude each other; "
        "or a reader-writer lock of 'lockwright list --rwlocks'.",
    ),
    Column("reads/s", "sections of readers that all threads completed, per second; median."),
    Column("writes/s", "the same of writers."),
    Column(
        "ratio to libc",
        "sections of readers and writers together, divided by those of libc in the same round; "
        "median over the rounds, with its 95 % interval (order statistics) where there are six "
        "rounds or more. Higher is better.",
    ),
    Column("read wait", "milliseconds, the longest that a reader waited in any round."),
    Column("write wait", "the same of a writer."),
    Column(
        "read pair ns",
        "nanoseconds of pthread_rwlock_rdlock and pthread_rwlock_unlock while no other thread "
        "uses the lock, the fastest of ten batches; median over the rounds.",
    ),
    Column(
        "read pair ratio",
        "nanoseconds of that pair, divided by those of libc in the same round; median and "
        "interval as above. Lower is better.",
    ),
    Column("write pair ns", "as read pair ns, of pthread_rwlock_wrlock."),
    Column("write pair ratio", "as read pair ratio, of pthread_rwlock_wrlock."),
    Column("bytes", "of the lock: in the program's own object + outside it for each lock."),
]

_FIGURES = (
    "reads_per_second",
    "writes_per_second",
    "longest_read_wait_ns",
    "longest_write_wait_ns",
    "read_pair_ns",
    "write_pair_ns",
)


def contenders(names: Sequence[str] | None, mutex: str) -> list[Subject]:
    """Return the subjects: `libc`, then `keep`, `mutex` and reader-writer locks, all or those of
    `names`. mutex: the lock whose library is loaded. Raises LockwrightError for unknown names."""
    registry = locks.registry()
    chosen = [Subject(LIBC)]
    for name in names or (KEEP, MUTEX, *rwlocks()):
        if name != LIBC:
            locks.check_replacement("--rwlocks", locks.RWLOCK, name)
            chosen.append(Subject(name, registry.path_of(mutex), lock=registry.find(mutex)))
    return chosen


def measure(
    report: Report,
    chosen: Sequence[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    read_shares: Sequence[float],
    thread_counts: Sequence[int],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and return a table for each share of reads (%) and number of threads.
    timeout: seconds for a run."""
    cells = [(share, threads) for share in read_shares for threads in thread_counts]
    outcomes: dict[tuple[float, int, str], dict[int, Mapping[str, object]]] = {}
    lost: dict[tuple[float, int, str], int] = {}
    with (
        watching_others(report),
        progress("rwlock", rounds * len(chosen) * len(cells)) as steps,
    ):
        for round_number in range(rounds):
            for share, threads in cells:
                for subject in rotated(chosen, round_number):
                    steps.step(f"{subject.name}, {share:g} % reads, {threads} threads")
                    options = {**arguments, "read-percent": share, "threads": threads}
                    variables = {} if subject.name == LIBC else {locks.RWLOCK: subject.name}
                    outcome = run(
                        subject, "rwlock", options, timeout=timeout, environment=variables
                    )
                    report.record(
                        subject, round_number, outcome, read_percent=share, threads=threads
                    )
                    key = (share, threads, subject.name)
                    line = _figures(outcome)
                    if line is None:
                        lost[key] = lost.get(key, 0) + 1
                    else:
                        outcomes.setdefault(key, {})[round_number] = line
    return [_table(report, chosen, share, threads, outcomes, lost) for share, threads in cells]


def _figures(outcome: Outcome) -> Mapping[str, object] | None:
    """Return the measured line, also of a run that was killed after it."""
    line = outcome.line("measured")
    return line if outcome.timed_out or not outcome.failure else None


def _table(
    report: Report,
    chosen: Sequence[Subject],
    share: float,
    threads: int,
    outcomes: Mapping[tuple[float, int, str], Mapping[int, Mapping[str, object]]],
    lost: Mapping[tuple[float, int, str], int],
) -> Table:
    table = empty_table(f"{share:g} % reads, {threads} threads", COLUMNS)
    known = rwlocks()
    reference = outcomes.get((share, threads, LIBC), {})
    for subject in chosen:
        lines = outcomes.get((share, threads, subject.name), {})
        pairs = [(line, reference[n]) for n, line in lines.items() if n in reference]
        ratios = {
            "ratio": [_rate(line) / _rate(libc) for line, libc in pairs],
            **{
                f"{each}_ratio": [
                    number(line, f"{each}_ns") / number(libc, f"{each}_ns") for line, libc in pairs
                ]
                for each in ("read_pair", "write_pair")
            },
        }
        figures = {each: [number(line, each) for line in lines.values()] for each in _FIGURES}
        row = {each: spread(values) for each, values in figures.items()}
        report.rows.append(
            {
                "lock": subject.name,
                "read_percent": share,
                "threads": threads,
                **{each: spread(values) for each, values in ratios.items()},
                **{f"{each}_interval": median_interval(values) for each, values in ratios.items()},
                "runs_without_figures": lost.get((share, threads, subject.name), 0),
                **row,
            }
        )
        if not lines:
            table.add_row(subject.name, "failed", *["-"] * (len(COLUMNS) - 2))
            continue
        medians = [None if each is None else each.median for each in row.values()]
        reads, writes, _, _, read_pair, write_pair = [each or 0.0 for each in medians]
        lock = known.get(subject.name)
        size = f"{lock.bytes_in_place}+{lock.bytes_per_lock_outside}" if lock else "-"
        table.add_row(
            subject.name,
            plain(reads),
            plain(writes),
            _median_text(ratios["ratio"]),
            plain(max(figures["longest_read_wait_ns"]) / 1e6),
            plain(max(figures["longest_write_wait_ns"]) / 1e6),
            f"{read_pair:.2f}",
            _median_text(ratios["read_pair_ratio"]),
            f"{write_pair:.2f}",
            _median_text(ratios["write_pair_ratio"]),
            size,
        )
    return table


def _median_text(ratios: Sequence[float]) -> str:
    """Return `median (low to high)` with the median's interval, without one `median`."""
    if not ratios:
        return "-"
    text = f"{median(ratios):.2f}"
    interval = median_interval(ratios)
    return text if interval is None else f"{text} ({interval[0]:.2f} to {interval[1]:.2f})"


def _rate(line: Mapping[str, object]) -> float:
    return number(line, "reads_per_second") + number(line, "writes_per_second")
