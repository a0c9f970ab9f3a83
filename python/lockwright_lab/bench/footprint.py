"""The memory of mutexes beyond the objects that the program allocates."""

import sys
from collections.abc import Mapping

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
from lockwright.run.bench_program import Subject, number, run
from lockwright.stats.spread import format_spread, spread
from rich.table import Table

NO_PAIR = 0.1
"""Bytes per pair of a mutex and a thread that count as none: less than one bit."""

MOST_OUTSIDE = 4 << 30
"""Most bytes of lock state of all mutexes of a run, by the stated size: a lock with large state is
measured with fewer mutexes, so that the machine does not run out of memory."""

MEASURED = (
    "bytes_per_mutex",
    "fixed_bytes",
    "bytes_per_thread",
    "bytes_per_pair",
    "bytes_per_held",
)

COLUMNS = [
    LOCK,
    Column(
        "bytes per mutex",
        "growth of the process's resident memory (Rss of /proc/self/smaps_rollup, exact to the "
        "page) while one thread locks and unlocks each mutex of an array once, and then a second "
        "thread, for what is allocated then, divided by the number of mutexes. The array is "
        "written to and the first mutexes (option --warm) are locked before, so it includes "
        "neither the program's own memory nor the library's fixed cost. Median over the rounds.",
    ),
    Column(
        "fixed KiB",
        "growth of resident memory in KiB while the first mutexes were locked: the memory that the "
        "library takes once, with the pages read from its file.",
    ),
    Column("in place", "bytes of the program's own pthread_mutex_t that the lock uses."),
    Column(
        "stated outside",
        "bytes per mutex from the library's pool, as the lock states them: 0 if its state fits in "
        "place. The unused pages of a larger state are not resident.",
    ),
    Column(
        "bytes per thread",
        "growth of the process's own memory (Anonymous of /proc/self/smaps_rollup) while many "
        "threads (option --threads), one after another, wait for one mutex and acquire it, "
        "divided by their number. The threads and the used part of their stacks exist before. "
        "Median over the rounds.",
    ),
    Column(
        "bytes per pair",
        "further growth while more of these threads (option --sharers) each lock and unlock each "
        "mutex of the array, divided by mutexes x threads. Median over the rounds.",
    ),
    Column(
        "bytes per held",
        "further growth while one thread locks all mutexes of the array and holds them all, "
        "divided by their number. Median over the rounds.",
    ),
    Column(
        "per node",
        "bytes per lock that a thread holds or waits for, as the lock states it; 0 if it has no "
        "queue nodes.",
    ),
    Column(
        "promise",
        "for a lock whose state fits in place: every round grew by exactly 0 bytes for the "
        f"mutexes. For every lock: by less than {NO_PAIR} bytes for a pair of a mutex and a "
        "thread, so that no lock takes memory for each pair.",
    ),
]


def most_mutexes(subject: Subject) -> int:
    """Return the largest number of mutexes of a run."""
    size = subject.lock.bytes_per_mutex_outside if subject.lock else 0
    return MOST_OUTSIDE // size if size else sys.maxsize


def remarks(report: Report) -> list[str]:
    """Return the remarks on a report."""
    most = max((int(str(row["mutexes"])) for row in report.rows), default=0)
    return [
        f"{row['lock']}: {row['mutexes']:,} mutexes only, because of their memory."
        for row in report.rows
        if row["mutexes"] != most
    ]


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Fill `report`, and return the table; `arguments` are those of the measuring program."""
    requested = int(str(arguments["mutexes"]))
    least = int(str(arguments["warm"])) + 1
    mutexes = {s.name: max(least, min(requested, most_mutexes(s))) for s in chosen}
    results = {(s.name, field): list[float]() for s in chosen for field in MEASURED}
    with watching_others(report), progress("footprint", rounds * len(chosen)) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                steps.step(subject.name)
                options = {**arguments, "mutexes": mutexes[subject.name]}
                outcome = run(subject, "footprint", options, timeout=timeout)
                report.record(subject, round_number, outcome)
                line = outcome.line("result")
                if line is not None and not outcome.failure:
                    for field in MEASURED:
                        results[subject.name, field].append(number(line, field))
    count, threads = (plain(float(str(arguments[name]))) for name in ("mutexes", "threads"))
    table = empty_table(f"Memory of {count} mutexes and {threads} threads", COLUMNS)
    for subject in chosen:
        figures = {field: spread(results[subject.name, field]) for field in MEASURED}
        lock = subject.lock
        fits = lock is None or lock.bytes_per_mutex_outside == 0
        holds = None
        if figures["bytes_per_pair"] is not None:
            holds = max(results[subject.name, "bytes_per_pair"]) < NO_PAIR
            holds = holds and not (fits and any(results[subject.name, "bytes_per_mutex"]))
        report.rows.append(
            {
                "lock": subject.name,
                "mutexes": mutexes[subject.name],
                **figures,
                "bytes_in_place": lock and lock.bytes_in_place,
                "bytes_per_mutex_outside": lock and lock.bytes_per_mutex_outside,
                "bytes_per_node": lock and lock.bytes_per_node,
                "holds": holds,
            }
        )
        sizes = ("bytes_in_place", "bytes_per_mutex_outside", "bytes_per_node")
        stated = [str(getattr(lock, size, "-")) for size in sizes]
        table.add_row(
            subject.name,
            format_spread(figures["bytes_per_mutex"]),
            format_spread(figures["fixed_bytes"], 1024),
            *stated[:2],
            *(format_spread(figures[f"bytes_per_{unit}"]) for unit in ("thread", "pair", "held")),
            stated[2],
            "-" if holds is None else "holds" if holds else "MISSED",
        )
    return [table]
