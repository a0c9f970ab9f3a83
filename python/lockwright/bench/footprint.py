"""The memory of mutexes beyond the objects that the program allocates."""

import sys
from collections.abc import Mapping

from rich.table import Table

from lockwright.base.numbers import plain
from lockwright.bench.report import LOCK, Column, Report, progress, rotated, table, watching_others
from lockwright.run.bench_program import Subject, number, run
from lockwright.stats.spread import format_spread, spread

NO_PAIR = 0.1
"""Bytes per pair of a mutex and a thread that count as none: less than one bit."""

MOST_OUTSIDE = 4 << 30
"""Most bytes that a lock may take for all mutexes of a run, by its stated size: a lock with large
state is measured with fewer mutexes, so that the machine does not run out of memory."""

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
        "page) while one thread locks and unlocks each mutex of an array once, divided by their "
        "number, and then, for what is made when a second thread comes, while another one does. "
        "The array itself is written to before, and the first mutexes (option --warm) are locked "
        "before, so neither the program's own memory nor the library's fixed cost is in it. "
        "Median over the rounds.",
    ),
    Column(
        "fixed KiB",
        "growth of resident memory in KiB while the first mutexes were locked: what the library "
        "takes once. Reading the library's own pages from its file is in it.",
    ),
    Column("in place", "bytes of the program's own pthread_mutex_t that the lock uses."),
    Column(
        "stated outside",
        "bytes per mutex that the lock says it takes from the library's pool: 0 where its state "
        "fits in place. Of a state that is larger than a page, what has not been used yet is not "
        "resident.",
    ),
    Column(
        "bytes per thread",
        "growth of the process's own memory (Anonymous of /proc/self/smaps_rollup) while each of "
        "many threads (option --threads) in turn waits for one mutex and gets it, divided by "
        "their number. The threads and the used part of their stacks were there before. Median "
        "over the rounds.",
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
        "bytes per lock that a thread holds or waits for, as the lock states it; 0 where it has "
        "no queue nodes.",
    ),
    Column(
        "promise",
        "for a lock whose state fits in place: every round grew by exactly 0 bytes for the "
        f"mutexes. For all: by less than {NO_PAIR} bytes for a pair of a mutex and a thread, so "
        "that no lock takes memory for each mutex and thread.",
    ),
]


def most_mutexes(subject: Subject) -> int:
    """Return the largest number of mutexes of a run."""
    each = subject.lock.bytes_per_mutex_outside if subject.lock else 0
    return MOST_OUTSIDE // each if each else sys.maxsize


def remarks(report: Report) -> list[str]:
    """Return the remarks on a report."""
    most = max((int(str(row["mutexes"])) for row in report.rows), default=0)
    return [
        f"{row['lock']}: {row['mutexes']:,} mutexes only, for the memory that they take."
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
    wanted = int(str(arguments["mutexes"]))
    least = int(str(arguments["warm"])) + 1
    mutexes = {s.name: max(least, min(wanted, most_mutexes(s))) for s in chosen}
    results = {(s.name, what): list[float]() for s in chosen for what in MEASURED}
    with watching_others(report), progress("footprint", rounds * len(chosen)) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                steps.step(subject.name)
                given = {**arguments, "mutexes": mutexes[subject.name]}
                outcome = run(subject, "footprint", given, timeout=timeout)
                report.record(subject, round_number, outcome)
                line = outcome.line("result")
                if line is not None and not outcome.failure:
                    for what in MEASURED:
                        results[subject.name, what].append(number(line, what))
    count, threads = (plain(float(str(arguments[name]))) for name in ("mutexes", "threads"))
    shown = table(f"Memory of {count} mutexes and {threads} threads", COLUMNS)
    for subject in chosen:
        figures = {what: spread(results[subject.name, what]) for what in MEASURED}
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
        stated = ["-"] * 3
        if lock is not None:
            sizes = (lock.bytes_in_place, lock.bytes_per_mutex_outside, lock.bytes_per_node)
            stated = [str(size) for size in sizes]
        shown.add_row(
            subject.name,
            format_spread(figures["bytes_per_mutex"]),
            format_spread(figures["fixed_bytes"], 1024),
            *stated[:2],
            *(format_spread(figures[f"bytes_per_{what}"]) for what in ("thread", "pair", "held")),
            stated[2],
            "-" if holds is None else "holds" if holds else "MISSED",
        )
    return [shown]
