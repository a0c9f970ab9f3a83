"""Samples the processes of a command while it runs, beside what the library in them records."""

import contextlib
import time
from pathlib import Path

from lockwright.profile.buffer import Buffers
from lockwright.profile.outside.process import SEARCH_NS, SampledProcess

_MOST_PROCESSES = 64


class BesideSampler:
    """The samples of a process and its descendants."""

    def __init__(self, root: int, buffers: Buffers) -> None:
        """root: the number of the process, 0 for that of the first buffer; buffers: of those that
        have the profiler's library."""
        self._root, self._buffers = root, buffers
        self._searched = 0.0
        self._processes: dict[int, SampledProcess] = {}
        self._refused: set[int] = set()
        self._gone: list[SampledProcess] = []

    @property
    def processes(self) -> tuple[SampledProcess, ...]:
        """Those that have not ended."""
        return tuple(self._processes.values())

    def stop(self) -> tuple[SampledProcess, ...]:
        """End the samples; return the processes."""
        for process in self._processes.values():
            process.close()
        return (*self._gone, *self._processes.values())

    def sample(self) -> bool:
        """Look at all threads; return whether any waited for something else than is recorded."""
        now, found = time.monotonic(), False
        is_search = 1e9 * (now - self._searched) > SEARCH_NS or not self._processes
        if is_search:
            self._searched = now
            self._search()
        if any(each.buffer is None for each in self._processes.values()):
            for buffer in self._buffers.all():
                if buffer.is_claimed and (process := self._processes.get(buffer.pid)) is not None:
                    process.buffer = buffer
        others = {
            inside: number
            for process in self._processes.values()
            for inside, number in process.present.items()
        }
        for pid, process in list(self._processes.items()):
            try:
                if is_search:
                    process.look()
                found |= process.sample(others)
            except OSError:
                process.close()
                self._gone.append(self._processes.pop(pid))
        return found

    def _search(self) -> None:
        if not (root := self._root or self._buffers.first.pid):
            return
        for pid in _with_descendants(root):
            if pid not in self._processes and pid not in self._refused:
                try:
                    self._processes[pid] = SampledProcess(pid)
                except OSError:
                    self._refused.add(pid)


def _with_descendants(root: int) -> list[int]:
    """Return a process and its descendants, as far as the kernel lists them."""
    pids = [root]
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        if len(pids) >= _MOST_PROCESSES:
            break
    return pids[:_MOST_PROCESSES]
