"""The file to which a profiled program writes its mutex operations while it runs.

Its layout is in src/probe/profile_buffer.hpp. Durations and times are in ticks of the processor's
clock.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from lockwright.base.errors import LockwrightError
from lockwright.base.process_numbers import number_here
from lockwright.preload import loads
from lockwright.preload.layouts import layouts

VARIABLE = "LOCKWRIGHT_PROFILE"

_BUFFER, _MAGIC = "profile_buffer", b"LWPROBE"

SpanKind = Literal["wait", "hold"]
WAIT: Final = "wait"
HOLD: Final = "hold"

_TICKS = 50
"""Approximate ticks for an uncontended acquisition and release."""

_COUNTED = 0.01
"""Weight, in acquisitions, of a call that is counted but not profiled."""

_MOST_FILES = 8
"""Limit on the files of other processes than the first."""

Rows = NDArray[Any]


def constant(name: str) -> int:
    """Return a constant of the profiler's library, as C++ names it."""
    return layouts().constants[name]


def total_of(amounts: Any) -> int:
    """Return the sum of a field of the records, counts or ticks. A difference of the clocks of two
    processors may be below zero; a sum below zero counts as zero."""
    return max(0, int(amounts.astype(np.int64).sum()))


def table_size(name: str) -> int:
    """Return the number of entries of a table of the buffer."""
    return layouts().field(_BUFFER, name).count


def has(records: Any, *flags: str) -> Any:
    """Return, for each record, whether it has one of the flags of its kind: is_void, another one is
    in use for the mutex; is_shared, it is for all mutexes of some initialisers; of_writers,
    of_readers, of a side of a reader-writer lock, of which the writers' precedes the readers'."""
    return (records["kind"] & sum(constant(f"record::{flag}") for flag in flags)) != 0


def init_site(record: Any) -> int:
    """Return the number of the caller that initialised a record's mutex, plus one; 0 if unknown."""
    return int(record["init_site"]) & ((1 << constant("init_stack_shift")) - 1)


def further_files(path: Path, count: int = _MOST_FILES) -> list[Path]:
    """Return the paths of the files for other processes than the first, which may be empty."""
    return [Path(f"{path}.{number}") for number in range(1, min(count, _MOST_FILES) + 1)]


@dataclass(frozen=True)
class Identity:
    """What tells a process from others. pid: its number in its own PID namespace; namespace: the
    kernel's number of that, 0 if unknown; started: by the kernel's clock ticks."""

    pid: int
    namespace: int
    started: int

    @classmethod
    def of(cls, row: Any) -> Self:
        """Return the identity in a row of a table."""
        return cls(int(row["pid"]), int(row["pid_namespace"]), int(row["started"]))

    @cached_property
    def number(self) -> int:
        """The number in this process's PID namespace; 0 if it is unknown, also later."""
        return number_here(self.pid, self.namespace)


@dataclass(frozen=True)
class ProcessNote:
    """A process that reported that it took mutexes. process: None for all those beyond the table.
    taken: an upper bound of its acquisitions before it had a file. is_unseen: whether it takes many
    or waits, and there was no file for it."""

    process: "Identity | None"
    taken: int
    is_unseen: bool


class Buffer:
    """The current content of the file. Arrays change while the program runs."""

    def __init__(self, path: Path) -> None:
        """Map the file, which may be removed afterwards. Raises LockwrightError if it is cut."""
        kind = layouts().dtype(_BUFFER)
        self.path = path
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < kind.itemsize:
                raise LockwrightError("the file for the profile was cut", "profile it again")
            self._bytes = mmap.mmap(file.fileno(), kind.itemsize, prot=mmap.PROT_READ)
        self._mapped = np.frombuffer(self._bytes, kind, 1)[0]

    def copy(self) -> "Buffer":
        """Return the present content, which no longer changes."""
        copied = object.__new__(Buffer)
        copied._bytes, copied._mapped = self._bytes, self._mapped.copy()
        return copied

    def check(self) -> None:
        """Raise LockwrightError if a library of another layout has opened the file."""
        layouts().check(_BUFFER, self._bytes[:64])

    def __getitem__(self, name: str) -> Any:
        return self._mapped[name]

    @property
    def is_claimed(self) -> bool:
        """True if a process has the buffer."""
        return bool(self["process"]["pid"])

    @cached_property
    def process(self) -> Identity:
        """The profiled process, of a claimed buffer."""
        return Identity.of(self["process"])

    @property
    def pid(self) -> int:
        """The id of the profiled process; 0 if there is none, or if it is in another PID namespace
        and had ended before it was looked for."""
        return self.process.number if self.is_claimed else 0

    @property
    def loaded(self) -> dict[int, str]:
        """The programs of the first processes when they loaded the profiler, by process id; from
        the first buffer."""
        return loads.programs(self["loaded"]["of"])

    @property
    def took_any(self) -> bool:
        """True if the process took a mutex, rather than only creating some."""
        calls = [
            *("samples", "contended", "failed_trylocks", "cond_waits"),
            *("unprofiled", "rwlock_calls", "spin_calls"),
        ]
        threads = self.threads
        taken = [threads[name] for name in calls]
        taken += [threads[name]["samples"] for name in ("reads", "writes")]
        return self.is_claimed and any(counts.any() for counts in taken)

    @property
    def mutex_ticks(self) -> float:
        """Ticks that the process spent on mutexes so far: waiting, and some for each acquisition.
        Calls that are only counted have less weight."""
        threads = self.threads
        calls = sum(float(threads[name].sum()) for name in ("rwlock_calls", "spin_calls"))
        shared = sum(float(threads[name]["acquisitions"].sum()) for name in ("reads", "writes"))
        return self.waited + _TICKS * (self.taken + shared + _COUNTED * calls)

    @property
    def taken(self) -> float:
        """Acquisitions of mutexes."""
        return float(self.threads["acquisitions"].sum()) + float(self.unsampled.sum())

    @property
    def waited(self) -> float:
        """Ticks waited, summed over the threads."""
        return float(total_of(self.records["waited"]))

    @property
    def other_processes(self) -> list[ProcessNote]:
        """Other processes that took mutexes, as noted in the first buffer."""
        unseen = constant("other_process::is_unseen")
        return [
            # A thread updates its note when they have doubled.
            ProcessNote(
                Identity.of(row["process"]) if row["process"]["pid"] else None,
                max(2 * (int(row["taken"]) & ~unseen) - 1, 0),
                bool(int(row["taken"]) & unseen),
            )
            for row in self["other_processes"]
            if row["taken"]
        ]

    @property
    def creations(self) -> Rows:
        """Calls of pthread_mutex_init, by the bucket of the time since the start."""
        creations: Rows = self["creations"]
        return creations

    @property
    def threads(self) -> Rows:
        """The recorded threads, by their numbers."""
        return self._used("threads", int(self["threads_used"]))

    def routine_of(self, tid: int) -> int:
        """Return the address of the function in which a thread began, by its number inside; 0 if
        unknown."""
        lives = self["lives"]
        found = lives["routine"][(lives["tid"] == tid) & (lives["has_ended"] == 0)]
        return int(found[0]) if len(found) else 0

    @property
    def last_ticks(self) -> int:
        """Ticks from the start to the last event of any thread."""
        threads = self.threads
        last = max(int(threads[name].max(initial=0)) for name in ("last_sample", "last_wait"))
        return max(last - int(self["begin_ticks"]), 0)

    @property
    def unsampled(self) -> NDArray[np.int64]:
        """Acquisitions of each thread since its last sample, which no sample represents yet."""
        return since_sample(self.threads)

    @property
    def modules(self) -> Rows:
        """The files that contain the recorded addresses."""
        return self._used("modules", int(self["modules_used"]))

    def path_of(self, module: Any) -> bytes:
        """Return the path of a module; empty if there was no room for it."""
        return loads.bytes_of(bytes(self["paths"])[int(module["path"]) :])

    @property
    def records(self) -> Rows:
        """All records, also unused ones, which have no sample and no wait."""
        records: Rows = self["records"]
        return records

    @property
    def details(self) -> Rows:
        """The details, by the number in a record minus one."""
        details: Rows = self["details"]
        return details

    @property
    def init_sites(self) -> Rows:
        """The initialising callers, by the number in a record minus one."""
        sites: Rows = self["inits"]["sites"]
        return sites

    def init_stack(self, record: Any) -> tuple[int, ...]:
        """Return the addresses of the stack from which a record's mutex was initialised; empty if
        it was not walked."""
        number = int(record["init_site"]) >> constant("init_stack_shift")
        stacks = self["inits"]["stacks"]
        if not 0 < number <= len(stacks):
            return ()
        stack = stacks[number - 1]
        return tuple(int(pc) for pc in stack["pcs"][: int(stack["frames"])])

    @property
    def stacks(self) -> Rows:
        stacks = self["stacks"]
        walked: Rows = stacks[stacks["frames"] != 0]
        return walked

    @property
    def first_object(self) -> int:
        """The number in a stack of the first object other than a lock."""
        return len(self["records"])

    def kind_of_object(self, number: int) -> int:
        """Return the number of the kind of an object. The last entries are for all further objects
        of a kind each, in their order."""
        objects = self["objects"]
        kinds = constant("wait_object::kinds")
        return (int(objects["key"][number]) >> 56) or number - (len(objects) - kinds) + 1

    def ticks_at(self, ns: int) -> int:
        """Return the processor's clock at a time of the monotonic clock, in ns."""
        return int(self["begin_ticks"]) + int((ns - int(self["begin_ns"])) / self.nanoseconds)

    @property
    def spans(self) -> Rows:
        """The recorded part of the timeline, unordered."""
        block = constant("profile_buffer::spans_in_block")
        spans = self._used("spans", block * int(self["span_blocks_used"]))
        noted: Rows = spans[spans["kind"] != 0]
        return noted

    @property
    def nanoseconds(self) -> float:
        """Nanoseconds of one tick."""
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
        rows: Rows = self[name][:count]
        return rows


def since_sample(countdowns: Rows) -> NDArray[np.int64]:
    """Return the acquisitions since the last sample of threads, or of their reads or writes."""
    # A negative countdown is that of an acquisition which is about to be sampled.
    left = np.maximum(countdowns["countdown"], 0)
    passed: NDArray[np.int64] = np.maximum(countdowns["drawn"].astype(np.int64) - 1 - left, 0)
    return passed


class Buffers:
    """The buffers of the processes of one run, whose number can grow."""

    def __init__(self, path: Path) -> None:
        """Open the buffer of the first process, whose file is `path`."""
        self._path = path
        self.first = Buffer(path)
        self._others: dict[Path, Buffer] = {}

    def all(self) -> list[Buffer]:
        # Lookups of missing files in /dev/shm are expensive: 25 a second slow a program whose
        # threads only contend by some per cent.
        for path in further_files(self._path, int(self.first["files"])):
            if path not in self._others and _is_filled(path):
                self._others[path] = Buffer(path)
        return [self.first, *self._others.values()]

    def busiest(self) -> Buffer:
        """Return the buffer of the process that spent most time on mutexes."""
        return max(self.all(), key=lambda buffer: buffer.mutex_ticks)


def _is_filled(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = layouts().structs[_BUFFER].bytes
            return file.read(len(_MAGIC)) == _MAGIC and path.stat().st_size >= size
    except OSError:
        return False


@cache
def lower_bounds() -> NDArray[np.float64]:
    """Return the bounds of a histogram's buckets, in ticks: the lower ones, and the last upper."""
    parts = constant("histogram::parts")
    buckets = np.arange(parts * (1 + constant("histogram::octaves")) + 1)
    octave = buckets // parts - 1
    part = buckets % parts
    return np.where(octave < 0, 2.0 * part, (parts + part) * 2.0 ** (octave + 1.0))


def _megahertz() -> float:
    """Return the processor's clock rate, for a program that ended before the clock could be
    compared with another."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("cpu MHz"):
                return float(line.partition(":")[2])
    except (OSError, ValueError):
        pass
    return 2500.0


@contextmanager
def new() -> Iterator[Path]:
    """Create an empty file for a profile and those beside it, and yield its path; they are removed
    at the end of the `with` block."""
    what = "the file for the profile"
    with layouts().new_file(_BUFFER, _MAGIC, what, _MOST_FILES) as path:
        yield path
