"""The cells of the grid: loads of one or several mutexes, each with a number of threads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lockwright.base.errors import LockwrightError

SECTIONS_NS = {"none": 0, "100ns": 100, "1us": 1_000, "10us": 10_000, "100us": 100_000}
"""Lengths of a critical section."""

BIMODAL = {"section-ns": 1_000, "long-ns": 1_000_000, "long-one-in": 1_000}
"""Sections of 1 µs, of which one in a thousand takes 1 ms: these are half of the time."""

GAPS = {"none": 0.0, "1x": 1.0, "10x": 10.0, "exp": 10.0}
"""Lengths of a gap in sections, or in units of 100 ns if sections are shorter; `exp` is the mean of
an exponential distribution."""

READS = (0, 50, 90, 99, 100)
"""Percentages of the acquisitions of a reader-writer lock that are reads."""

RW_SECTIONS = {"shortest": 20, "short": 200, "long": 20_000}
"""Cycles of a section of a reader-writer lock; the gaps are twice as long."""

QUOTA = 0.5
"""Share of the processors' time that a cell with a quota may use."""

STARVING_MS = 100.0
"""The bound on waits: the longest wait, beside that of a fair queue, of a lock that may be best."""


@dataclass(frozen=True)
class Load:
    """A cell of the grid: a load with a number of threads. labels: its family, then the
    parameters that differ within that family. options: those of the workload `regimes`, times in
    nanoseconds.

    length: the factor by which its runs are longer. quota: it runs in a group with QUOTA.
    of_rwlocks: it is one of the workload `rwlock`, times in cycles.
    """

    labels: tuple[str, ...]
    threads: int
    options: tuple[tuple[str, float], ...]
    length: int = 1
    quota: bool = False
    of_rwlocks: bool = False

    @property
    def name(self) -> str:
        """A name such as `single/100ns/10x/64`, to which the patterns of `--cells` apply."""
        return "/".join((*self.labels, str(self.threads)))

    @property
    def row(self) -> str:
        """The load without its number of threads."""
        return "/".join(self.labels)

    @property
    def family(self) -> str:
        return self.labels[0]

    @property
    def changes_once(self) -> bool:
        """True if the regime changes in the middle of a run."""
        return self.family == "step"

    def option(self, name: str, default: float = 0.0) -> float:
        return dict(self.options).get(name, default)

    def longest_wait(self, bound_ms: float) -> float:
        """Return the seconds that a thread may wait under a lock that counts as best.

        It is the sum of bound_ms, twice the time in which a fair queue serves all threads, and with
        a quota two of the periods in which the kernel counts processor time, of 100 ms.
        """
        section = max(self.option("section-ns"), self.option("then-section-ns"))
        if self.option("long-one-in"):
            section += self.option("long-ns") / self.option("long-one-in")
        throttled = 0.2 if self.quota else 0.0
        return bound_ms / 1e3 + 2 * self.threads * section / 1e9 + throttled


def thread_counts(processors: int) -> list[int]:
    """Return the numbers of threads of the widest family: from 1 to 32 per processor, and 1,000."""
    c = processors
    return sorted({1, 2, max(1, c // 2), c, 2 * c, 8 * c, 32 * c, 1000})


def grid(processors: int) -> list[Load]:
    """Return all cells for a machine with so many processors."""
    return [*_single(processors), *_others(processors)]


def quick_grid(processors: int) -> list[Load]:
    """Return twelve cells that differ as much as possible."""
    c = processors
    names = [
        "single/none/none/1",
        f"single/100ns/10x/{max(2, c)}",
        f"single/100ns/10x/{8 * c}",
        f"single/100ns/none/{32 * c}",
        f"single/10us/1x/{2 * c}",
        f"single/bimodal/10x/{8 * c}",
        f"locks/512/1us/{8 * c}",
        f"hog/100ns/{8 * c}",
        f"burst/10us/{8 * c}",
        f"queue/1/{2 * c}",
        f"trylock/100ns/{8 * c}",
        f"step/100ns-100us/{8 * c}",
    ]
    by_name = {cell.name: cell for cell in grid(processors)}
    return [by_name[name] for name in names]


def rwlock_grid(processors: int) -> list[Load]:
    """Return the cells of a reader-writer lock: shares of reads, lengths of sections and gaps, and
    bursts of writes, with one thread and with one and four for each processor."""
    return [
        Load(
            ("readers", str(reads), section, *(("burst",) if burst > 1 else ())),
            threads,
            (
                ("read-percent", reads),
                ("section-cycles", cycles),
                ("gap-cycles", 2 * cycles),
                ("burst", burst),
            ),
            of_rwlocks=True,
        )
        for reads, burst in (*((each, 1) for each in READS), (90, 16), (99, 16))
        for section, cycles in RW_SECTIONS.items()
        for threads in sorted({1, processors, 4 * processors})
        if threads > 1 or burst == 1
    ]


def choose(cells: Sequence[Load], patterns: str | None) -> list[Load]:
    """Return the cells whose names match one of the patterns, which are separated by commas.

    Raises LockwrightError for a pattern that no cell matches.
    """
    if patterns is None:
        return list(cells)
    words = [word.strip() for word in patterns.split(",") if word.strip()]
    for word in words or [patterns]:
        if not any(_matches(cell, word) for cell in cells):
            families = ", ".join(dict.fromkeys(cell.family for cell in cells))
            raise LockwrightError(
                f"no cell matches '{word}'",
                f"give patterns such as '*/16'; the families are {families}",
            )
    return [cell for cell in cells if any(_matches(cell, word) for word in words)]


def _matches(cell: Load, pattern: str) -> bool:
    return fnmatchcase(cell.name, pattern) or cell.family == pattern


def _load(
    labels: Sequence[str], threads: int, options: Mapping[str, float], *, quota: bool = False
) -> Load:
    return Load(tuple(labels), threads, tuple(options.items()), quota=quota)


def _single(processors: int) -> Iterator[Load]:
    """Yield the cells of one mutex: every section with every gap and number of threads."""
    for section in (*SECTIONS_NS, "bimodal"):
        for gap in GAPS:
            for threads in thread_counts(processors):
                # A gap changes nothing for a single thread.
                if (threads == 1 and gap != "none") or (threads == 1000 and gap in ("1x", "exp")):
                    continue
                options = _sections(section) | {
                    "gap-ns": GAPS[gap] * max(100.0, _sections(section)["section-ns"]),
                    "exponential": float(gap == "exp"),
                }
                yield Load(("single", section, gap), threads, tuple(options.items()))


def _sections(name: str) -> dict[str, float]:
    return dict(BIMODAL) if name == "bimodal" else {"section-ns": SECTIONS_NS[name]}


def _others(c: int) -> Iterator[Load]:
    """Yield cells of several mutexes, disturbances, other patterns, and changes of regime."""
    for locks in (8, 512, 65_536):
        for section in ("none", "1us"):
            for threads in (c, 8 * c):
                load = _sections(section) | {"locks": float(locks)}
                yield _load(("locks", str(locks), section), threads, load)
    for section in ("100ns", "10us"):
        load, ns = _sections(section), SECTIONS_NS[section]
        bursts = load | {"burst": 10.0, "idle-us": 1000.0}
        for threads in (c, 8 * c):
            spaced = load | {"gap-ns": 10.0 * ns}
            yield _load(("hog", section), threads, spaced | {"hogs": float(c)})
            yield _load(("quota", section), threads, spaced, quota=True)
            yield _load(("trylock", section), threads, load | {"gap-ns": float(ns), "trylock": 1.0})
            yield _load(("timed", section), threads, load | {"gap-ns": float(ns), "timed": 1.0})
            yield _load(("burst", section), threads, bursts)
        yield _load(("burst", section), 32 * c, bursts)
    for capacity in (1, 100):
        for threads in sorted({2, 2 * c, 8 * c}):
            yield _load(
                ("queue", str(capacity)), threads, {"section-ns": 100.0, "queue": float(capacity)}
            )
    for capacity in (1, 100):
        for threads in sorted({3, 3 * c}):
            stages = {"section-ns": 100.0, "gap-ns": 1e3, "queue": float(capacity), "stages": 3.0}
            yield _load(("pipeline", str(capacity)), threads, stages)
    for label, job in (("1us", 1e3), ("100us", 1e5)):
        for threads in (2 * c, 8 * c):
            pool = {"section-ns": 100.0, "gap-ns": job, "queue": 100.0, "producers": 1.0}
            yield _load(("pool", label), threads, pool)
    yield from _changes(c)


def _changes(c: int) -> Iterator[Load]:
    """Yield cells with one change of regime, and with periodic changes."""
    for first, then in (("100ns", "100us"), ("100us", "100ns")):
        load = _sections(first) | {"then-section-ns": float(SECTIONS_NS[then])}
        yield Load(("step", f"{first}-{then}"), 8 * c, tuple(load.items()), 2)
    for few, many, label in ((c, 8 * c, "few-many"), (8 * c, c, "many-few")):
        load = {
            "section-ns": 1e3,
            "gap-ns": 1e4,
            "threads": float(few),
            "then-threads": float(many),
        }
        yield Load(("step", label), 8 * c, tuple(load.items()), 2)
    alternating = {"section-ns": 100.0, "then-section-ns": 10_000.0}
    for label, us in (("100us", 100.0), ("1ms", 1_000.0), ("10ms", 10_000.0)):
        yield _load(("period", label), 8 * c, alternating | {"period-us": us})
    for count in (64, 1024):
        yield _load(
            ("period", f"{count}acq"), 8 * c, alternating | {"period-acquisitions": float(count)}
        )
