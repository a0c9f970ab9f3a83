"""The file in which a profiled program notes what it does with its mutexes, also while it runs.

The layout is that of src/probe/profile_buffer.hpp; the library writes only to a file that has its
size.
Durations and times are in ticks of the processor's clock.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.base.shared_files import shared_files
from lockwright.preload import loads

VARIABLE = "LOCKWRIGHT_PROFILE"

_MAGIC = b"LWPROBE4"
_PARTS, _OCTAVES = 8, 34
BUCKETS = _PARTS * (1 + _OCTAVES)

PLACE_BITS = (1 << 13) - 1
"""Of a record's place: its number plus one; above them the number of its stack, plus one."""

IS_VOID, IS_SHARED = 1 << 30, 1 << 31
"""Bits of a record's kind: another one is in use for its mutex; it is for all of some places."""

WAIT, HOLD = 1, 2
"""Kinds of moments."""

THREADS = 4096
"""Threads that have a place of their own in a sheet; later ones share those."""

OTHERS = 64
"""Other processes that the first sheet names."""

_UNSEEN = 1 << 31
"""Of what another process has taken: it may be of interest, and there was no file for it."""

_OTHER = np.dtype([("pid", "u4"), ("taken", "u4")])
_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("bytes", "u8"),
        ("pid", "u4"),
        ("others", "u4"),
        ("begin_ticks", "u8"),
        ("begin_ns", "u8"),
        ("ticks_per_second", "u8"),
        ("threads_used", "u4"),
        ("modules_used", "u4"),
        ("records_used", "u4"),
        ("details_used", "u4"),
        ("moment_blocks_used", "u4"),
        ("modules_taken", "u4"),
        ("images", "u4"),
        ("files", "u4"),
        ("most", "u4"),
        ("taken", "u4"),
        ("each_other", _OTHER, OTHERS + 1),
        ("program", "S512"),
        ("loaded", "u1", loads.SIZE),
        ("creations", "u8", BUCKETS),
    ]
)
_THREAD = np.dtype(
    [
        ("countdown", "i4"),
        ("tid", "u4"),
        ("drawn", "u4"),
        ("number", "u4"),
        ("acquisitions", "u8"),
        ("last_sample", "u8"),
        ("period", "u4"),
        ("random", "u4"),
        ("rwlock_calls", "u8"),
        ("spin_calls", "u8"),
        ("mmap_calls", "u8"),
        ("waiting_since", "u8"),
        ("waiting_site", "u8"),
        ("waiting_for", "u4"),
        ("waits_drawn", "u4"),
        ("last_wait", "u8"),
        ("last_stack", "u8"),
        ("last_moment", "u8"),
        ("last_usage", "u8"),
        ("waits_countdown", "u4"),
        ("waits_period", "u4"),
        ("samples", "u8"),
        ("migrations", "u8"),
        ("processor", "u4"),
        ("is_walking", "u4"),
        ("clock_ticks", "u8"),
        ("clock_ns", "u8"),
        ("failing", "u4"),
        ("failures", "u4"),
        ("failed_trylocks", "u8"),
        ("cond_waits", "u8"),
        ("unprofiled", "u8"),
        ("created", "u8"),
        ("destroyed", "u8"),
        ("last_caller", "u8"),
        ("last_place", "u4"),
        ("moments_left", "u4"),
        ("next_moment", "u8"),
        ("contended", "u8"),
        ("last_record", "u8"),
        ("waited", "u8"),
        ("waited_for", "u4"),
        ("waits", "u4"),
        ("short_waits", "u4"),
        ("unused", "u4", 11),
    ]
)
_PLACE = np.dtype([("caller", "u8"), ("created", "u4"), ("walked", "u4")])
_ORIGIN = np.dtype([("hash", "u8"), ("frames", "u4"), ("place", "u4"), ("pcs", "u8", 7)])
_MODULE = np.dtype([("start", "u8"), ("end", "u8"), ("base", "u8"), ("path", "S232")])
_STACK = np.dtype(
    [
        ("hash", "u8"),
        ("record", "u4"),
        ("frames", "u4"),
        ("waits", "u8"),
        ("waited", "u8"),
        ("holds", "u8"),
        ("held", "u8"),
        ("pcs", "u8", 24),
    ]
)
_RECORD = np.dtype(
    [
        ("address", "u8"),
        ("place", "u4"),
        ("ordinal", "u4"),
        ("kind", "u4"),
        ("detail", "u4"),
        ("first_site", "u8"),
        ("first_seen", "u8"),
        ("threads", "u8", 3),
        ("acquisitions", "u8"),
        ("samples", "u8"),
        ("tried", "u8"),
        ("hold_begin", "u8"),
        ("hold_weight", "u8"),
        ("holds", "u8"),
        ("held", "u8"),
        ("hold_samples", "u8"),
        ("contended", "u8"),
        ("waits", "u8"),
        ("waited", "u8"),
        ("released", "u8"),
        ("hand_overs", "u8"),
        ("handed_over", "u8"),
        ("last_thread", "u4"),
        ("owner_changes", "u4"),
        ("usage_samples", "u4"),
        ("usage_preempted", "u4"),
        ("failed_trylocks", "u8"),
        ("cond_signals", "u8"),
        ("cond_waits", "u8"),
        ("futile_wakeups", "u8"),
        ("usage_begin", "u8"),
        ("hold_site", "u8"),
        ("hold_stack", "u4"),
        ("destroyed", "u4"),
        ("most_waiting", "u8"),
    ]
)
_SITE = np.dtype(
    [(name, "u8") for name in ("caller", "acquisitions", "contended", "waited", "held", "releaser")]
)
_BLOCK = np.dtype([("holder", "u4"), ("waiter", "u4"), ("times", "u8"), ("waited", "u8")])
_DETAIL = np.dtype(
    [
        ("holding", "u8", BUCKETS),
        ("waiting", "u8", BUCKETS),
        ("handing_over", "u8", BUCKETS),
        ("arrivals", "u8", 64),
        ("sites", _SITE, 16),
        ("blocks", _BLOCK, 32),
    ]
)
_MOMENT = np.dtype(
    [
        ("begin", "u8"),
        ("end", "u8"),
        ("caller", "u8"),
        ("record", "u4"),
        ("thread", "u2"),
        ("kind", "u2"),
    ]
)
_TABLES = (
    ("threads", _THREAD, THREADS),
    ("places", _PLACE, 4096),
    ("origins", _ORIGIN, 4096),
    ("modules", _MODULE, 256),
    ("stacks", _STACK, 4096),
    ("records", _RECORD, 16384),
    ("details", _DETAIL, 1024),
    ("moments", _MOMENT, 32768),
)
_PAGE, _LINE = 4096, 64

_TICKS = 50
"""That it takes about to acquire and release a free mutex."""

_COUNTED = 0.01
"""Of an acquisition, what a call is worth of which a profile says no more than that it was."""

_MOST_FILES = 8
"""That processes make besides the first."""


def _ends_at(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _size() -> int:
    size = _ends_at(_HEADER.itemsize, _LINE)
    for _, kind, count in _TABLES:
        size = _ends_at(size, _LINE) + kind.itemsize * count
    return _ends_at(size, _PAGE)


SIZE = _size()
"""Bytes."""

Rows = NDArray[Any]


def beside(path: Path, count: int = _MOST_FILES) -> list[Path]:
    """The paths of the first files of other processes than the first, which may be empty."""
    return [Path(f"{path}.{number}") for number in range(1, min(count, _MOST_FILES) + 1)]


@dataclass(frozen=True)
class Noted:
    """A process that said of itself that it took mutexes. pid: 0 for all that there was no room
    for. taken: at most, and before it had a file. is_unseen: it takes many or waits, and there was
    no file for it."""

    pid: int
    taken: int
    is_unseen: bool


class Sheet:
    """What stands in the file at the moment. Arrays change while the program runs."""

    def __init__(self, path: Path) -> None:
        """Maps the file, which may be removed afterwards."""
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ)
        self._header = np.frombuffer(self._mapped, _HEADER, 1)
        at = _ends_at(_HEADER.itemsize, _LINE)
        self._tables: dict[str, Rows] = {}
        for name, kind, count in _TABLES:
            at = _ends_at(at, _LINE)
            self._tables[name] = np.frombuffer(self._mapped, kind, count, at)
            at += kind.itemsize * count

    def __getitem__(self, name: str) -> Any:
        """A word of the header."""
        return self._header[name][0]

    @property
    def pid(self) -> int:
        """Of the process that is profiled; 0 while there is none."""
        return int(self["pid"])

    @property
    def loaded(self) -> dict[int, str]:
        """The first processes that loaded the profiler, and the program that each was then; of the
        first sheet."""
        return loads.read(self._header["loaded"].tobytes())

    @property
    def took_any(self) -> bool:
        """Whether the process took a mutex, and did not only make some."""
        calls = [
            *("samples", "contended", "failed_trylocks", "cond_waits"),
            *("unprofiled", "rwlock_calls", "spin_calls"),
        ]
        return bool(self.pid) and any(self.threads[name].any() for name in calls)

    @property
    def worth(self) -> float:
        """Ticks that the process spent on mutexes so far: waiting, and a little for each
        acquisition. What is counted and no more counts for less."""
        calls = (self.threads[name].sum() for name in ("rwlock_calls", "spin_calls"))
        return self.waited + _TICKS * (self.taken + _COUNTED * float(sum(calls)))

    @property
    def taken(self) -> float:
        """Acquisitions of any mutex."""
        return float(self.threads["acquisitions"].sum()) + float(self.passed_over.sum())

    @property
    def waited(self) -> float:
        """Ticks, summed over the threads."""
        return float(self.records["waited"].sum())

    @property
    def each_other(self) -> list[Noted]:
        """What stands in the first sheet on other processes that took mutexes."""
        others = self._header["each_other"][0]
        return [
            # A thread says it again when they have doubled.
            Noted(pid, max(2 * (taken & ~_UNSEEN) - 1, 0), bool(taken & _UNSEEN))
            for pid, taken in others.tolist()
            if taken
        ]

    @property
    def creations(self) -> Rows:
        """Calls of pthread_mutex_init by the bucket of the time since the beginning."""
        creations: Rows = self._header["creations"][0]
        return creations

    @property
    def threads(self) -> Rows:
        """Those that were seen, by their numbers."""
        return self._used("threads", int(self["threads_used"]))

    @property
    def last_ticks(self) -> int:
        """Ticks from the beginning to the last that any thread noted."""
        threads = self.threads
        last = max(int(threads[name].max(initial=0)) for name in ("last_sample", "last_wait"))
        return max(last - int(self["begin_ticks"]), 0)

    @property
    def passed_over(self) -> NDArray[np.int64]:
        """Acquisitions of each thread since its last sample, for which no sample stands yet."""
        threads = self.threads
        passed = threads["drawn"].astype(np.int64) - 1 - threads["countdown"]
        return np.where(threads["samples"] != 0, np.maximum(passed, 0), 0)

    @property
    def modules(self) -> Rows:
        """The files that addresses lie in."""
        return self._used("modules", int(self["modules_used"]))

    @property
    def records(self) -> Rows:
        """All records, also unused ones: these have seen no sample and no wait."""
        return self._tables["records"]

    @property
    def details(self) -> Rows:
        """By the number that a record has, less one."""
        return self._tables["details"]

    @property
    def places(self) -> Rows:
        """By the number that a record has, less one."""
        return self._tables["places"]

    def origin(self, record: Any) -> tuple[int, ...]:
        """The addresses of the stack from which a record's mutex was initialised; empty if that
        was not walked."""
        number = int(record["place"]) >> PLACE_BITS.bit_length()
        if not 0 < number <= len(self._tables["origins"]):
            return ()
        found = self._tables["origins"][number - 1]
        return tuple(int(pc) for pc in found["pcs"][: int(found["frames"])])

    @property
    def stacks(self) -> Rows:
        """Those that were walked."""
        stacks = self._tables["stacks"]
        walked: Rows = stacks[stacks["frames"] != 0]
        return walked

    @property
    def moments(self) -> Rows:
        """What there is of a timeline, in no order."""
        moments = self._used("moments", 64 * int(self["moment_blocks_used"]))
        noted: Rows = moments[moments["kind"] != 0]
        return noted

    @property
    def nanoseconds(self) -> float:
        """Of one tick."""
        if rate := int(self["ticks_per_second"]):
            return 1e9 / rate
        threads = self.threads
        if len(threads):
            last = threads[np.argmax(threads["clock_ticks"])]
            ticks = int(last["clock_ticks"]) - int(self["begin_ticks"])
            elapsed = int(last["clock_ns"]) - int(self["begin_ns"])
            if elapsed > 50_000 and ticks > 0:
                return elapsed / ticks
        return 1e3 / _megahertz()

    def _used(self, name: str, count: int) -> Rows:
        return self._tables[name][:count]


class Family:
    """The sheets of the processes of one run, of which there can come more."""

    def __init__(self, path: Path) -> None:
        """path: of that of the process that came first."""
        self._path = path
        self.first = Sheet(path)
        self._others: dict[Path, Sheet] = {}

    def all(self) -> list[Sheet]:
        """Those that there are."""
        # That it is not there is dear to find in /dev/shm: a program whose threads do nothing but
        # contend runs some per cent slower if that is asked 25 times a second.
        for path in beside(self._path, int(self.first["files"])):
            if path not in self._others and _is_filled(path):
                self._others[path] = Sheet(path)
        return [self.first, *self._others.values()]

    def chosen(self) -> Sheet:
        """That of the process that spent most time on mutexes, the first if it is no less."""
        return max(self.all(), key=lambda sheet: sheet.worth)


def _is_filled(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC and path.stat().st_size >= SIZE
    except OSError:
        return False


def lower_bounds() -> NDArray[np.float64]:
    """Where the buckets of a histogram begin, in ticks, and where the last one ends."""
    buckets = np.arange(BUCKETS + 1)
    octave = buckets // _PARTS - 1
    part = buckets % _PARTS
    return np.where(octave < 0, 2.0 * part, (_PARTS + part) * 2.0 ** (octave + 1.0))


def _megahertz() -> float:
    """The clock of a processor whose program ended before it could be compared with another."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("cpu MHz"):
                return float(line.partition(":")[2])
    except (OSError, ValueError):
        pass
    return 2500.0


@contextmanager
def new() -> Iterator[Path]:
    """The path of an empty file for a profile, that is removed at the end of the `with` block, with
    those beside it."""
    with shared_files(SIZE, "the file for the profile", _MOST_FILES) as path:
        with path.open("r+b") as file:
            file.write(_MAGIC + SIZE.to_bytes(8, "little"))
        yield path
