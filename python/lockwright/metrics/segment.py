"""The shared-memory segment in which a running process counts the waits for its mutexes.

Its layout is in src/preload/metrics_page.hpp. It has no path: it is found in /proc/PID/maps and
read through /proc/PID/mem, for which the kernel demands the right to trace the process.
"""

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.base.process_numbers import number_inside, stat_words
from lockwright.preload.layouts import layouts
from lockwright.preload.locks import METRICS
from lockwright.preload.rwlocks import DEFAULT
from lockwright.profile.attached import examination_error

_PAGE, _COUNTS, _CALLERS = "metrics_page", "wait_counts", "callers"
_MAGIC = b"LWWAITS\0"
_NAME = b"/memfd:lockwright-metrics"
_LIBRARY = re.compile(rb"/liblockwright(?:-([a-z0-9-]+))?\.so$", re.MULTILINE)


@dataclass(frozen=True)
class SiteWaits:
    """The contended acquisitions of one call site. caller: return address of the lock function, 0
    for the sites that found no room; waits: their number in each bucket; waited: ns."""

    caller: int
    waits: tuple[int, ...]
    waited: int


@dataclass(frozen=True)
class Segment:
    """The segment of a process at one time. lock: name of the lock's library; started: clock ticks
    from the start of the machine to that of the process, which tell a reused pid."""

    pid: int
    program: str
    lock: str
    started: int
    sites: tuple[SiteWaits, ...]


def bounds() -> list[float]:
    """Return the upper bounds of the buckets in seconds; the last bucket has none."""
    least = layouts().constants["wait_counts::least_bits"]
    buckets = layouts().field(_COUNTS, "waits").count
    return [2 ** (least + 2 * bucket) / 1e9 for bucket in range(buckets - 1)]


def read(pid: int) -> Segment | None:
    """Return the segment of a process; None if it has none.

    Raises ProcessLookupError or FileNotFoundError if there is no such process, PermissionError if
    it may not be examined, and LockwrightError if its library has another layout.
    """
    process = Path(f"/proc/{pid}")
    maps = (process / "maps").read_bytes()
    found = re.search(rb"^([0-9a-f]+)-[^\n]*" + _NAME + rb"\b", maps, re.MULTILINE)
    if found is None:
        return None
    library = _LIBRARY.search(maps)
    started = int(stat_words(process)[19])
    program = (process / "exe").readlink().name.removesuffix(" (deleted)")
    memory = os.open(process / "mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        sites = _sites(memory, int(found[1], 16), process)
    finally:
        os.close(memory)
    if sites is None:
        return None
    lock = (library[1] or DEFAULT.encode()).decode() if library else ""
    return Segment(pid, program, lock, started, sites)


def _sites(memory: int, address: int, process: Path) -> tuple[SiteWaits, ...] | None:
    """Return the sites in a segment; None for one that belongs to another process."""
    layout = layouts()
    table = layout.field(_PAGE, "of").offset
    # All after the callers takes memory in the program only where a site is in use.
    header = _bytes_at(memory, address, table)
    if header[: len(_MAGIC)] != _MAGIC:
        return None
    layout.check(_PAGE, header)
    fields = {field.name: field for field in layout.structs[_PAGE].fields}
    pid = int.from_bytes(header[fields["pid"].offset :][:4], "little")
    if pid != number_inside(process):
        return None
    stripes = layout.constants["metrics_page::stripes"]
    size = stripes * layout.structs[_COUNTS].bytes
    callers = memoryview(header)[fields[_CALLERS].offset :].cast("Q")
    sites = []
    for number, caller in enumerate(callers):
        if caller or number == 0:
            site = _summed(_bytes_at(memory, address + table + number * size, size), stripes)
            if any(site[1:]):
                sites.append(SiteWaits(caller, site[1:], site[0]))
    return tuple(sites)


def _summed(data: bytes, stripes: int) -> tuple[int, ...]:
    """Return the numbers of a site, summed over its stripes."""
    numbers = memoryview(data).cast("Q")
    each = len(numbers) // stripes
    return tuple(sum(numbers[index::each]) for index in range(each))


def _bytes_at(memory: int, address: int, size: int) -> bytes:
    data = os.pread(memory, size, address)
    if len(data) < size:
        raise ProcessLookupError
    return data


def examined(pid: int) -> Segment:
    """Return the segment of a process. Raises LockwrightError if there is none, or if it cannot be
    read."""
    try:
        segment = read(pid)
    except OSError as error:
        raise examination_error(pid, error) from error
    if segment is None:
        raise LockwrightError(
            f"process {pid} counts no waits",
            "start it with 'lockwright run --metrics -- CMD', or with a lock's library and "
            f"{METRICS}=1",
        )
    return segment


@dataclass(frozen=True)
class Segments:
    """The segments of all processes. unreadable: the number of processes with a segment that may
    not be read, or has another layout."""

    read: tuple[Segment, ...]
    unreadable: int


def of_all_processes() -> Segments:
    """Return the segments of all processes that the caller may examine."""
    found, unreadable = [], 0
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            segment = read(int(process.name))
        except (OSError, LockwrightError):
            unreadable += _has_segment(process)
            continue
        if segment is not None:
            found.append(segment)
    return Segments(tuple(sorted(found, key=lambda segment: segment.pid)), unreadable)


def _has_segment(process: Path) -> bool:
    with contextlib.suppress(OSError):
        return _NAME in (process / "maps").read_bytes()
    return False
