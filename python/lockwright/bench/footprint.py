"""What a mutex costs in memory beyond the object that the program allocated."""

from collections.abc import Mapping

from rich.table import Table

from lockwright.bench.figures import plain, show, spread
from lockwright.bench.report import Column, Report, in_turn, progress, table, watching_others
from lockwright.bench.run import Subject, number, run

COLUMNS = [
    Column("lock", "libc is the C library's own mutex with nothing preloaded."),
    Column(
        "bytes per mutex",
        "growth of the process's resident memory (Rss of /proc/self/smaps_rollup, exact to the "
        "page) while one thread locks and unlocks each mutex of an array once, divided by their "
        "number. The array itself is written to before, and the first mutexes (option --warm) "
        "are locked before, so neither the program's own memory nor the library's fixed cost is "
        "in it. Median over the rounds.",
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
        "fits in place.",
    ),
    Column(
        "per node",
        "bytes per lock that a thread holds or waits for, whatever the number of mutexes; 0 "
        "where the lock has no queue nodes.",
    ),
    Column(
        "in-place promise",
        "for a lock whose state fits in place: whether every round grew by exactly 0 bytes.",
    ),
]


def measure(
    report: Report,
    chosen: list[Subject],
    rounds: int,
    arguments: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Fills `report`, and returns the table; `arguments` are those of the measuring program."""
    per_mutex: dict[str, list[float]] = {s.name: [] for s in chosen}
    fixed: dict[str, list[float]] = {s.name: [] for s in chosen}
    with watching_others(report), progress("footprint", rounds * len(chosen)) as steps:
        for turn in range(rounds):
            for subject in in_turn(chosen, turn):
                steps.step(subject.name)
                outcome = run(subject, "footprint", arguments, timeout=timeout)
                report.record(subject, turn, outcome)
                line = outcome.line("result")
                if line is not None and not outcome.failure:
                    per_mutex[subject.name].append(number(line, "bytes_per_mutex"))
                    fixed[subject.name].append(number(line, "fixed_bytes"))
    count = arguments["mutexes"]
    shown = table(f"Memory of {plain(float(str(count)))} mutexes, each locked once", COLUMNS)
    for subject in chosen:
        growth, once = spread(per_mutex[subject.name]), spread(fixed[subject.name])
        lock = subject.lock
        fits = lock is None or lock.bytes_per_mutex_outside == 0
        holds = not any(per_mutex[subject.name]) if fits and growth is not None else None
        report.rows.append(
            {
                "lock": subject.name,
                "bytes_per_mutex": growth,
                "fixed_bytes": once,
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
        verdict = "" if holds is None else "holds" if holds else "MISSED"
        shown.add_row(subject.name, show(growth), show(once, 1024), *stated, verdict)
    return [shown]
