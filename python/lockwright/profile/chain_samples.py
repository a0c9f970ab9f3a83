"""Samples of the chains of waits of a running program."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base.process_numbers import ThreadNumbers
from lockwright.profile.buffer import Buffer
from lockwright.profile.outside.memory import Memory
from lockwright.profile.python_frames import PythonFrames
from lockwright.profile.thread_states import TaskFiles
from lockwright.profile.wait_graph import Kinds, SampledChain, WaitGraph

_MOST = 16
"""Limit on the waiting threads that a sample follows, drawn from all."""


@dataclass
class ChainSums:
    """How often samples found a chain, and the seconds of waiting that they stand for."""

    samples: float = 0
    seconds: float = 0

    def add(self, other: "ChainSums") -> None:
        self.samples += other.samples
        self.seconds += other.seconds


class ChainSampler:
    """The samples of one process. sums: of each chain; python: by the number of an object, how
    often samples found a thread that waits for it in a Python function."""

    def __init__(
        self, buffer: Buffer, process: Path, threads: ThreadNumbers, files: TaskFiles
    ) -> None:
        """process: its directory in /proc."""
        self.sums: dict[SampledChain, ChainSums] = {}
        self.python: dict[int, Counter[str]] = {}
        self._buffer, self._files, self._threads = buffer, files, threads
        self._memory = Memory(process)
        self._frames = PythonFrames(buffer, self._memory)
        self._kinds = Kinds()
        self._random = random.Random()

    def close(self) -> None:
        """End the samples."""
        self._memory.close()

    def sample(self, seconds: float, running_share: Callable[[int], float]) -> None:
        """Follow the chains of the threads that wait. seconds: for which the sample stands;
        running_share: the share of processor time in the time in which a thread was running or
        ready to, by its number inside the process."""
        graph = WaitGraph(self._buffer, self._files, self._threads, self._memory, self._kinds)
        waiting = graph.waiting
        chosen = waiting if len(waiting) <= _MOST else self._random.sample(waiting, _MOST)
        self._note_python(chosen)
        for slot in chosen:
            if (found := graph.chain(slot)) is None:
                continue
            chain, tid = found
            scale = len(waiting) / len(chosen)
            share = running_share(tid) if chain.state == "running" else 1.0
            self._add(chain, scale * share, seconds)
            if share < 1:
                self._add(replace(chain, state="runnable"), scale * (1 - share), seconds)

    def _note_python(self, slots: list[int]) -> None:
        """Note the Python functions in which threads wait for objects."""
        rows = self._buffer.threads[slots]
        objects = {int(row["tid"]): int(row["object"]) for row in rows if row["object"]}
        labels = self._frames.labels() if objects else {}
        for tid, number in objects.items():
            if tid in labels:
                self.python.setdefault(number - 1, Counter())[labels[tid]] += 1

    def _add(self, chain: SampledChain, samples: float, seconds: float) -> None:
        if samples:
            sums = ChainSums(samples, samples * seconds)
            self.sums.setdefault(chain, ChainSums()).add(sums)
