"""The memory that a process touches in a short time, from the kernel's referenced bits.

Without a counter of stalled cycles, this shows whether a program works on more memory than fits
into the caches: a sample lasts until the process has run long enough to touch twice the last-level
cache at RATE. A page counts once and in full: repeated uses are missed, and bytes that were never
used are included.
"""

import contextlib
import mmap
import statistics
import threading
import time
from pathlib import Path

RATE = 1.6e9
"""Bytes touched per second of processor time above which a program streams over memory: about a
fifth of the bandwidth of one processor, or a miss every 2.5 µs if page by page."""

USUAL_CACHE = 32 * 2**20
"""Bytes of the last-level cache if the system does not report it."""

_POLL, _LONGEST = 0.005, 2.0
"""Seconds between two checks of the processor time, and the time limit of a sample."""

_FIRST, _GROWTH = 0.1, 1.6
"""Seconds until the first sample, and the growth factor of the pauses."""

_CLEAR_REFERENCED = "1"

MOST = 8 << 30
"""Bytes of memory in use above which no sample is taken, since it would delay the process."""


def last_level_cache_size(tree: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int | None:
    """Return the bytes of the last-level cache, or None if the system does not report it."""
    sizes: dict[int, int] = {}
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    for directory in tree.glob("index*"):
        try:
            if (directory / "type").read_text().strip() == "Instruction":
                continue
            size = (directory / "size").read_text().strip()
            sizes[int((directory / "level").read_text())] = int(size[:-1]) * units[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return sizes[max(sizes)] if sizes else None


def processor_seconds(pid: int) -> float:
    """Return the processor time of the live threads of a process. Raises OSError if the process has
    ended or the kernel does not report it."""
    total = 0
    for task in (Path("/proc") / str(pid) / "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def touched_per_second(pid: int, enough: float) -> float | None:
    """Return the bytes that the process touches per second of processor time, while it runs for
    `enough` seconds of it; None if it does not, or the kernel does not report it."""
    process = Path("/proc") / str(pid)
    try:
        if int((process / "statm").read_text().split()[1]) * mmap.PAGESIZE > MOST:
            return None
        (process / "clear_refs").write_text(_CLEAR_REFERENCED)
        began, until = processor_seconds(pid), time.monotonic() + _LONGEST
        while processor_seconds(pid) - began < enough:
            if time.monotonic() > until:
                return None
            time.sleep(_POLL)
        rolled_up = (process / "smaps_rollup").read_text()
        used = processor_seconds(pid) - began
    except (OSError, ValueError, IndexError):
        return None
    for line in rolled_up.splitlines():
        name, _, value = line.partition(":")
        if name == "Referenced":
            return int(value.split()[0]) * 1024 / used
    return None


class TouchSampler:
    """A thread that samples the memory use of a process repeatedly."""

    def __init__(self, pid: int) -> None:
        """Start a thread, with the signal mask of the caller."""
        self._pid = pid
        self._enough = 2 * (last_level_cache_size() or USUAL_CACHE) / RATE
        self._samples: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float | None:
        """Return the median of the samples, in bytes per second of processor time; None without a
        sample."""
        self._ended.set()
        self._thread.join()
        return statistics.median(self._samples) if self._samples else None

    def _watch(self) -> None:
        pause = _FIRST
        while not self._ended.wait(pause):
            began = time.monotonic()
            sample = touched_per_second(self._pid, self._enough)
            if sample is not None:
                self._samples.append(sample)
            pause = max(pause * _GROWTH, time.monotonic() - began)
