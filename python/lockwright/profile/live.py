"""The state of a running program's mutexes and other objects over the last interval, from its
buffer."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lockwright.base import clock
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer, has
from lockwright.profile.convert import symbols_of
from lockwright.profile.live_objects import ObjectRow, SampledObjects
from lockwright.profile.mutex_lines import taken_at
from lockwright.profile.mutexes import Mutexes
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.time_lost import lost_share
from lockwright.profile.waits import open_waits, wait_objects
from lockwright.profile.watch import no_samples, resource_use


@dataclass(frozen=True)
class Row:
    """A mutex during the last interval. lost: ns waited per second, summed over threads; waiting:
    number of threads now; contended: share of the acquisitions; rate: acquisitions per second; both
    None if unknown. holder: call site of the holds with the longest waits of others, or "" if
    unknown; where holds are unknown, the call site with the longest waits. held_by: the thread that
    held it in most samples, and what it did; "" if unknown."""

    name: str
    lost: float
    waiting: int
    contended: float | None
    rate: float | None
    holder: str
    held_by: str = ""


@dataclass(frozen=True)
class State:
    """The program during the last interval. elapsed: ns since its first mutex; threads: their
    number; waiting: those that wait for any object; lost: as in a Row, over all mutexes;
    lost_share: its share in the time in which threads ran or waited, None if unknown; rows: in
    descending order of lost; objects: in descending order of waited."""

    elapsed: float
    threads: int
    waiting: int
    lost: float
    lost_share: float | None
    rows: tuple[Row, ...]
    objects: tuple[ObjectRow, ...] = ()


@dataclass(frozen=True)
class _Sums:
    """Sums since the start of the program, in the order of the records. now: ns, monotonic;
    cpu: processor time in ns, None if unknown. objects: rows of ns waited, ended waits and threads
    that wait now, in the order of the other objects."""

    now: int
    cpu: float | None
    waited: NDArray[np.float64]
    acquisitions: NDArray[np.float64]
    contended: NDArray[np.float64]
    waiting: NDArray[np.int64]
    objects: NDArray[np.float64]


class Live:
    """The difference between successive states of a buffer."""

    def __init__(self, buffer: Buffer, program: str) -> None:
        """Read the first state. program: path of the running program."""
        self.buffer, self._program = buffer, program
        self._before = self._sums()
        self._blocks: dict[int, NDArray[np.uint64]] = {}
        self._modules = -1
        self._names: dict[int, str] = {}
        self._renewal = 0
        self._sampled = SampledObjects()

    def state(self, most: int, sampled: Sequence[SampledProcess] = ()) -> State:
        """Return the last interval, with the `most` mutexes and other objects that cost most; at
        most half of them, rounded up, are other objects. sampled: from outside. Raises
        DamagedRecords if the program has overwritten the records."""
        damage.check(self.buffer)
        before, now = self._before, self._sums()
        self._before = now
        seconds = max((now.now - before.now) / 1e9, 1e-9)
        lost = np.maximum(now.waited - before.waited, 0) / seconds
        rate = np.maximum(now.acquisitions - before.acquisitions, 0) / seconds
        contended = np.maximum(now.contended - before.contended, 0) / seconds
        change = np.maximum(now.objects - before.objects, 0) / seconds
        longest = np.argsort(-change[0], kind="stable")[: (most + 1) // 2]
        longest = longest[(change[0] + now.objects[2])[longest] > 0]
        outside = self._sampled.rows(sampled, seconds)
        others = min(len(longest) + len(outside), (most + 1) // 2)
        costliest = np.lexsort((-rate, -now.waiting, -lost))[: most - others]
        shown = [
            int(number)
            for number in costliest
            if lost[number] or rate[number] or now.waiting[number]
        ]
        self._refresh_names(shown, now.now)
        about = wait_objects(
            self.buffer, self._symbols, self.buffer.nanoseconds, now.now, longest.tolist()
        )
        rows = tuple(
            Row(
                name=self._names.get(number, ""),
                lost=float(lost[number]),
                waiting=int(now.waiting[number]),
                # Acquisitions are estimated from samples, which may lag behind.
                contended=min(1.0, float(contended[number] / max(rate[number], 1e-9)))
                if contended[number]
                else 0.0,
                rate=float(max(rate[number], contended[number])),
                holder=self._holder(number),
            )
            for number in shown
        )
        objects = [
            ObjectRow(
                about=parts[0],
                waited=float(change[0, number]),
                waiting=int(now.objects[2, number]),
                rate=float(change[1, number]),
            )
            for number, parts in about.items()
        ]
        begin = int(self.buffer["begin_ns"])
        total = float(lost.sum())
        return State(
            elapsed=float(now.now - begin) if begin else 0.0,
            threads=self._threads(),
            waiting=int(now.waiting.sum() + now.objects[2].sum())
            + sum(row.waiting for row in outside),
            lost=total,
            lost_share=share_of_interval(total * seconds, before.cpu, now.cpu),
            rows=rows,
            objects=tuple(sorted([*objects, *outside], key=lambda row: -row.waited)[:others]),
        )

    def _sums(self) -> _Sums:
        buffer = self.buffer
        records = buffer.records
        used = ~has(records, "is_void")
        waited = np.where(used, records["waited"].astype(np.int64), 0).astype(np.float64)
        waiting = np.zeros(len(records), np.int64)
        now = clock.monotonic_ns()
        unit = buffer.nanoseconds
        # Unfinished waits are included.
        ticks = int(buffer["begin_ticks"]) + (now - int(buffer["begin_ns"])) / unit
        threads = buffer.threads
        numbers = threads["waiting_for"].astype(np.int64) - 1
        for number, since in zip(numbers, threads["waiting_since"], strict=True):
            if 0 <= number < len(records):
                waiting[number] += 1
                if since:
                    waited[number] += max(0.0, ticks - float(since))
        return _Sums(
            now,
            cpu_time(Path(f"/proc/{buffer.pid}")),
            waited * unit,
            np.where(used, records["acquisitions"], 0).astype(np.float64),
            np.where(used, records["contended"], 0).astype(np.float64),
            waiting,
            self._sums_of_objects(now),
        )

    def _sums_of_objects(self, now: int) -> NDArray[np.float64]:
        rows = self.buffer["objects"]
        sums = np.zeros((3, len(rows)))
        sums[0], sums[1] = rows["waited"], rows["waits"]
        for number, still in open_waits(self.buffer, now).items():
            if number < len(rows):
                sums[0, number] += sum(ticks for _, ticks in still)
                sums[2, number] = len(still)
        sums[0] *= self.buffer.nanoseconds
        return sums

    def _threads(self) -> int:
        try:
            return sum(1 for _ in Path(f"/proc/{self.buffer.pid}/task").iterdir())
        except OSError:
            return 0

    def _refresh_names(self, shown: Iterable[int], now: int) -> None:
        """Name the mutexes as the profile would: if one that is shown has no name yet, files were
        loaded since, or twice as many samples may tell wrappers apart. now: ns, monotonic."""
        if self._modules != len(self.buffer.modules):
            self._modules = len(self.buffer.modules)
            self._names.clear()
            self._symbols = symbols_of(self.buffer, self._program)
        if now < self._renewal and self._names.keys() >= set(shown):
            return
        begin = int(self.buffer["begin_ns"])
        self._renewal = now + max(now - begin, 10**9) if begin else 0
        buffer = self.buffer.copy()
        samples = no_samples(buffer)
        samples.last_ns = now
        self._names = Mutexes(buffer, self._symbols, samples, buffer.nanoseconds, 1.0).names()

    def _holder(self, number: int) -> str:
        number_of_detail = int(self.buffer.records["detail"][number])
        if not number_of_detail:
            return ""
        detail = self.buffer.details[number_of_detail - 1]
        waited = detail["wait_edges"]["waited"].copy()
        before = self._blocks.get(number, np.zeros_like(waited))
        self._blocks[number] = waited
        grown = np.where(waited >= before, waited - before, waited)
        holder = int(detail["wait_edges"]["holder"][int(np.argmax(grown))])
        if not grown.any() or not holder:
            return ""
        return taken_at(self._symbols, int(detail["sites"]["caller"][holder - 1])).label


def cpu_time(process: Path) -> float | None:
    """Return the processor time in ns that a process has used; None if it has ended. process: its
    directory in /proc."""
    with contextlib.suppress(OSError, IndexError):
        use = resource_use(process)[0]
        return use["cpu_user"] + use["cpu_system"]
    return None


def user_time(process: Path) -> float | None:
    """Return the part of that outside the kernel."""
    with contextlib.suppress(OSError, IndexError):
        return resource_use(process)[0]["cpu_user"]
    return None


def share_of_interval(lost: float, before: float | None, now: float | None) -> float | None:
    """Return the share of the time lost in an interval, in ns. before, now: processor time at its
    ends; None if unknown."""
    if before is None or now is None:
        return None
    return lost_share(lost, lost, max(0.0, now - before))
