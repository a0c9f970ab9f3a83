"""Readers and writers of one reader-writer lock, under each of them."""

from collections.abc import Mapping, Sequence
from statistics import median

from lockwright.experiment import (
    Cell,
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Relative,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.preload import locks
from lockwright.preload.rwlocks import KEEP, MUTEX, rwlocks
from lockwright.run.bench_program import LIBC, Subject, number
from lockwright.stats.inference import median_interval

from lockwright_lab.bench import runs


def _measured(name: str, heading: str, definition: str, **more: object) -> Figure:
    value = runs.field("measured", name)
    return Figure(name, definition=definition, heading=heading, value=value, **more)  # type: ignore


def _sections(made: Outcome) -> float | None:
    line = runs.line(made, "measured")
    if line is None:
        return None
    return number(line, "reads_per_second") + number(line, "writes_per_second")


READS = _measured(
    "reads_per_second",
    "reads/s",
    "sections of readers that all threads completed, per second; median.",
    unit="1/s",
)
WRITES = _measured("writes_per_second", "writes/s", "the same of writers.", unit="1/s")
SECTIONS = Figure("sections_per_second", "1/s", value=_sections)
RATIO = Figure(
    "ratio",
    "",
    definition="sections of readers and writers together, divided by those of libc in the same "
    "round; median over the rounds, with its 95 % interval (order statistics) where there are six "
    "rounds or more. Higher is better.",
    heading="ratio to libc",
    relative=Relative(SECTIONS.name, contender=LIBC),
)
WAITS = [
    _measured(f"longest_{kind}_wait_ns", f"{kind} wait", text, unit="ns", scale=1e6)
    for kind, text in (
        ("read", "milliseconds, the longest that a reader waited in any round."),
        ("write", "the same of a writer."),
    )
]
READ_PAIR = _measured(
    "read_pair_ns",
    "read pair ns",
    "nanoseconds of pthread_rwlock_rdlock and pthread_rwlock_unlock while no other thread uses the "
    "lock, the fastest of ten batches; median over the rounds.",
    unit="ns",
)
WRITE_PAIR = _measured(
    "write_pair_ns", "write pair ns", "as read pair ns, of pthread_rwlock_wrlock.", unit="ns"
)
READ_PAIR_RATIO = Figure(
    "read_pair_ratio",
    "",
    lower_is_better=True,
    definition="nanoseconds of that pair, divided by those of libc in the same round; median and "
    "interval as above. Lower is better.",
    heading="read pair ratio",
    relative=Relative(READ_PAIR.name, contender=LIBC),
)
WRITE_PAIR_RATIO = Figure(
    "write_pair_ratio",
    "",
    lower_is_better=True,
    definition="as read pair ratio, of pthread_rwlock_wrlock.",
    heading="write pair ratio",
    relative=Relative(WRITE_PAIR.name, contender=LIBC),
)
FIGURES = [
    *(SECTIONS, READS, WRITES, RATIO, *WAITS),
    *(READ_PAIR, READ_PAIR_RATIO, WRITE_PAIR, WRITE_PAIR_RATIO),
]


def _with_interval(figure: Figure) -> Column:
    """Return `median (low to high)` with the median's interval, without one `median`."""

    def text(row: Summary) -> str:
        ratios = list(row.by_round(figure.name).values())
        if not ratios:
            return "-"
        interval = median_interval(ratios)
        limits = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
        return f"{median(ratios):.2f}{limits}"

    return Column(figure.heading, figure.definition, text)


def _size(row: Summary) -> str:
    lock = rwlocks().get(row.contender)
    return f"{lock.bytes_in_place}+{lock.bytes_per_lock_outside}" if lock else "-"


COLUMNS = [
    make.name(
        definition="libc: the C library's reader-writer lock without any library; keep: the same "
        "through Lockwright's library; mutex: the lock --mutex, under which readers exclude each "
        "other; or a reader-writer lock of 'lockwright list --rwlocks'.",
    ),
    make.median(READS),
    make.median(WRITES),
    _with_interval(RATIO),
    *(make.extreme(each, max) for each in WAITS),
    make.median(READ_PAIR, make.fixed(2)),
    _with_interval(READ_PAIR_RATIO),
    make.median(WRITE_PAIR, make.fixed(2)),
    _with_interval(WRITE_PAIR_RATIO),
    Column("bytes", "of the lock: in the program's own object + outside it for each lock.", _size),
]


def contenders(names: Sequence[str] | None, mutex: str) -> list[Contender]:
    """Return the contenders: `libc`, then `keep`, `mutex` and reader-writer locks, all or those of
    `names`. mutex: the lock whose library is loaded. Raises LockwrightError for unknown names."""
    registry = locks.registry()
    chosen = [Contender(LIBC, subject=Subject(LIBC))]
    for name in names or (KEEP, MUTEX, *rwlocks()):
        if name != LIBC:
            locks.check_replacement("--rwlocks", locks.RWLOCK, name)
            library = Subject(name, registry.path_of(mutex), lock=registry.find(mutex))
            chosen.append(Contender(name, {locks.RWLOCK: name}, library))
    return chosen


def rwlock(
    common: runs.Common,
    options: Mapping[str, object],
    chosen: Sequence[Contender],
    read_shares: Sequence[float],
    thread_counts: Sequence[int],
) -> Experiment:
    """Return the experiment. options: of the measuring program; read_shares: in %."""
    cells = [
        Cell(f"{share:g} % reads, {count} threads", {"read-percent": share, "threads": count})
        for share in read_shares
        for count in thread_counts
    ]
    return runs.experiment(
        "rwlock", common, FIGURES, [TableOf(COLUMNS)], options, cells, contenders=chosen
    )
