"""The memory of mutexes beyond the objects that the program allocates."""

import sys
from collections.abc import Mapping, Sequence

from lockwright.base.numbers import plain
from lockwright.experiment import Column, Experiment, Figure, Outcome, Summary, TableOf
from lockwright.experiment import columns as make
from lockwright.run.bench_program import Subject

from lockwright_lab.bench import runs

NO_PAIR = 0.1
"""Bytes per pair of a mutex and a thread that count as none: less than one bit."""

MOST_OUTSIDE = 4 << 30
"""Most bytes of lock state of all mutexes of a run, by the stated size: a lock with large state is
measured with fewer mutexes, so that the machine does not run out of memory."""


def _bytes(name: str, heading: str, definition: str, scale: float = 1.0) -> Figure:
    value = runs.field("result", name)
    return Figure(name, "B", True, definition, heading, scale, value)


PER_MUTEX = _bytes(
    "bytes_per_mutex",
    "bytes per mutex",
    "growth of the process's resident memory (Rss of /proc/self/smaps_rollup, exact to the page) "
    "while one thread locks and unlocks each mutex of an array once, and then a second thread, for "
    "what is allocated then, divided by the number of mutexes. The array is written to and the "
    "first mutexes (option --warm) are locked before, so it includes neither the program's own "
    "memory nor the library's fixed cost. Median over the rounds.",
)
FIXED = _bytes(
    "fixed_bytes",
    "fixed KiB",
    "growth of resident memory in KiB while the first mutexes were locked: the memory that the "
    "library takes once, with the pages read from its file.",
    1024,
)
PER_THREAD = _bytes(
    "bytes_per_thread",
    "bytes per thread",
    "growth of the process's own memory (Anonymous of /proc/self/smaps_rollup) while many threads "
    "(option --threads), one after another, wait for one mutex and acquire it, divided by their "
    "number. The threads and the used part of their stacks exist before. Median over the rounds.",
)
PER_PAIR = _bytes(
    "bytes_per_pair",
    "bytes per pair",
    "further growth while more of these threads (option --sharers) each lock and unlock each mutex "
    "of the array, divided by mutexes x threads. Median over the rounds.",
)
PER_HELD = _bytes(
    "bytes_per_held",
    "bytes per held",
    "further growth while one thread locks all mutexes of the array and holds them all, divided by "
    "their number. Median over the rounds.",
)
FIGURES = [PER_MUTEX, FIXED, PER_THREAD, PER_PAIR, PER_HELD]


def _stated(heading: str, trait: str, definition: str) -> Column:
    def text(row: Summary) -> str:
        return str(getattr(row.of_contender.subject.lock, trait, "-"))

    return Column(heading, definition, text)


def _promise(row: Summary) -> str:
    pairs, lock = row.by_round("bytes_per_pair"), row.of_contender.subject.lock
    if not pairs:
        return "-"
    fits = lock is None or lock.bytes_per_mutex_outside == 0
    grew = fits and any(row.by_round("bytes_per_mutex").values())
    return "MISSED" if max(pairs.values()) >= NO_PAIR or grew else "holds"


COLUMNS = [
    make.name(definition=runs.LOCK),
    make.with_spread(PER_MUTEX),
    make.with_spread(FIXED),
    _stated(
        "in place",
        "bytes_in_place",
        "bytes of the program's own pthread_mutex_t that the lock uses.",
    ),
    _stated(
        "stated outside",
        "bytes_per_mutex_outside",
        "bytes per mutex from the library's pool, as the lock states them: 0 if its state fits in "
        "place. The unused pages of a larger state are not resident.",
    ),
    *map(make.with_spread, (PER_THREAD, PER_PAIR, PER_HELD)),
    _stated(
        "per node",
        "bytes_per_node",
        "bytes per lock that a thread holds or waits for, as the lock states it; 0 if it has no "
        "queue nodes.",
    ),
    Column(
        "promise",
        "for a lock whose state fits in place: every round grew by exactly 0 bytes for the "
        f"mutexes. For every lock: by less than {NO_PAIR} bytes for a pair of a mutex and a "
        "thread, so that no lock takes memory for each pair.",
        _promise,
    ),
]


def most_mutexes(subject: Subject) -> int:
    """Return the largest number of mutexes of a run."""
    size = subject.lock.bytes_per_mutex_outside if subject.lock else 0
    return MOST_OUTSIDE // size if size else sys.maxsize


def footprint(common: runs.Common, options: Mapping[str, int]) -> Experiment:
    """Return the experiment. options: of the measuring program."""

    def mutexes(subject: Subject) -> int:
        return max(options["warm"] + 1, min(options["mutexes"], most_mutexes(subject)))

    def run(call: runs.Call) -> Outcome:
        return call.having({"mutexes": mutexes(call.contender.subject)}).run()

    def remarks(_: Sequence[Sequence[Summary]]) -> list[str]:
        fewer = {each.name: number for each in common.chosen if (number := mutexes(each))}
        return [
            f"{name}: {number:,} mutexes only, because of their memory."
            for name, number in fewer.items()
            if number != max(fewer.values())
        ]

    title = f"Memory of {plain(options['mutexes'])} mutexes and {plain(options['threads'])} threads"
    tables = [TableOf(COLUMNS, lambda _: title)]
    return runs.experiment("footprint", common, FIGURES, tables, options, make=run, remarks=remarks)
