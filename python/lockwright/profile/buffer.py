"""The file in which a profiled program notes what it does with its mutexes, also while it runs.

src/probe/profile_buffer.hpp has its layout. Durations and times are in ticks of the processor's
clock.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.preload import loads
from lockwright.preload.layouts import layouts

VARIABLE = "LOCKWRIGHT_PROFILE"

_BUFFER, _MAGIC = "profile_buffer", b"LWPROBE"

WAIT, HOLD = "wait", "hold"
"""Kinds of moments."""

_TICKS = 50
"""That it takes about to acquire and release a free mutex."""

_COUNTED = 0.01
"""Of an acquisition, what a call is worth of which a profile says no more than that it was."""

_MOST_FILES = 8
"""That processes make besides the first."""

Rows = NDArray[Any]


def constant(name: str) -> int:
    """Return a constant of the profiler's library, as C++ names it."""
    return layouts().constants[name]


def table_size(name: str) -> int:
    """Return the entries of a table of the buffer."""
    return layouts().field(_BUFFER, name).count


def is_void(records: Any) -> Any:
    """Of records: that another one is in use for the mutex."""
    return (records["kind"] & constant("record::is_void")) != 0


def is_shared(records: Any) -> Any:
    """Of records: that it is for all mutexes of some initialisers."""
    return (records["kind"] & constant("record::is_shared")) != 0


def init_site(record: Any) -> int:
    """Return the number of the caller that initialised a record's mutex, plus one; 0 if unknown."""
    return int(record["init_site"]) & ((1 << constant("init_stack_shift")) - 1)


def beside(path: Path, count: int = _MOST_FILES) -> list[Path]:
    """Return the paths of the first files of other processes than the first, which may be empty."""
    return [Path(f"{path}.{number}") for number in range(1, min(count, _MOST_FILES) + 1)]


@dataclass(frozen=True)
class Noted:
    """A process that said of itself that it took mutexes. pid: 0 for all that there was no room
    for. taken: at most, and before it had a file. is_unseen: it takes many or waits, and there was
    no file for it."""

    pid: int
    taken: int
    is_unseen: bool


class Buffer:
    """What stands in the file at the moment. Arrays change while the program runs."""

    def __init__(self, path: Path) -> None:
        """Maps the file, which may be removed afterwards."""
        kind = layouts().dtype(_BUFFER)
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), kind.itemsize, prot=mmap.PROT_READ)
        self._mapped = np.frombuffer(self._bytes, kind, 1)[0]

    def check(self) -> None:
        """Raise LockwrightError if a library of another layout has seen the file."""
        layouts().check(_BUFFER, self._bytes[:64])

    def __getitem__(self, name: str) -> Any:
        """Return a field or a table."""
        return self._mapped[name]

    @property
    def pid(self) -> int:
        """Of the process that is profiled; 0 while there is none."""
        return int(self["pid"])

    @property
    def loaded(self) -> dict[int, str]:
        """The first processes that loaded the profiler, and the program that each was then; of the
        first buffer."""
        return loads.programs(self["loaded"]["of"])

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
    def other_processes(self) -> list[Noted]:
        """What stands in the first buffer on other processes that took mutexes."""
        unseen = constant("other_process::is_unseen")
        return [
            # A thread says it again when they have doubled.
            Noted(pid, max(2 * (taken & ~unseen) - 1, 0), bool(taken & unseen))
            for pid, taken in self["other_processes"].tolist()
            if taken
        ]

    @property
    def creations(self) -> Rows:
        """Calls of pthread_mutex_init by the bucket of the time since the beginning."""
        creations: Rows = self["creations"]
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
        records: Rows = self["records"]
        return records

    @property
    def details(self) -> Rows:
        """By the number that a record has, less one."""
        details: Rows = self["details"]
        return details

    @property
    def init_sites(self) -> Rows:
        """By the number that a record has, less one."""
        sites: Rows = self["inits"]["sites"]
        return sites

    def init_stack(self, record: Any) -> tuple[int, ...]:
        """Return the addresses of the stack from which a record's mutex was initialised; empty if
        that was not walked."""
        number = int(record["init_site"]) >> constant("init_stack_shift")
        stacks = self["inits"]["stacks"]
        if not 0 < number <= len(stacks):
            return ()
        found = stacks[number - 1]
        return tuple(int(pc) for pc in found["pcs"][: int(found["frames"])])

    @property
    def stacks(self) -> Rows:
        """Those that were walked."""
        stacks = self["stacks"]
        walked: Rows = stacks[stacks["frames"] != 0]
        return walked

    @property
    def moments(self) -> Rows:
        """What there is of a timeline, in no order."""
        block = constant("profile_buffer::moments_in_block")
        moments = self._used("moments", block * int(self["moment_blocks_used"]))
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
        rows: Rows = self[name][:count]
        return rows


class Buffers:
    """The buffers of the processes of one run, of which there can come more."""

    def __init__(self, path: Path) -> None:
        """path: of that of the process that came first."""
        self._path = path
        self.first = Buffer(path)
        self._others: dict[Path, Buffer] = {}

    def all(self) -> list[Buffer]:
        """Those that there are."""
        # That it is not there is dear to find in /dev/shm: a program whose threads do nothing but
        # contend runs some per cent slower if that is asked 25 times a second.
        for path in beside(self._path, int(self.first["files"])):
            if path not in self._others and _is_filled(path):
                self._others[path] = Buffer(path)
        return [self.first, *self._others.values()]

    def chosen(self) -> Buffer:
        """That of the process that spent most time on mutexes, the first if it is no less."""
        return max(self.all(), key=lambda buffer: buffer.worth)


def _is_filled(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = layouts().structs[_BUFFER].bytes
            return file.read(len(_MAGIC)) == _MAGIC and path.stat().st_size >= size
    except OSError:
        return False


@cache
def lower_bounds() -> NDArray[np.float64]:
    """Where the buckets of a histogram begin, in ticks, and where the last one ends."""
    parts = constant("histogram::parts")
    buckets = np.arange(parts * (1 + constant("histogram::octaves")) + 1)
    octave = buckets // parts - 1
    part = buckets % parts
    return np.where(octave < 0, 2.0 * part, (parts + part) * 2.0 ** (octave + 1.0))


def _megahertz() -> float:
    """Return the clock of a processor whose program ended before it could be compared with
    another."""
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
    what = "the file for the profile"
    with layouts().new_file(_BUFFER, _MAGIC, what, _MOST_FILES) as path:
        yield path
