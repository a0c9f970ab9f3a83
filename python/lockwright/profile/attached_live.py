"""The state of an attached process's mutexes and other objects over the last interval."""

from collections import defaultdict

from lockwright.profile.attached import PERIOD, Attached, place_of
from lockwright.profile.live import Row, State, cpu_time, share_of_interval
from lockwright.profile.live_objects import SampledObjects
from lockwright.profile.mutex_lines import name_of, taken_at
from lockwright.profile.symbols import Symbols

_RECENT = 2.5e9 * PERIOD
"""Nanoseconds after a sample for which a thread that waited in it counts as waiting."""


class AttachedLive:
    """The sums of the samples since the last call, which clears them."""

    def __init__(self, target: Attached) -> None:
        self._target = target
        self._objects = SampledObjects()
        self._before = 0.0
        self._cpu_before = cpu_time(target.process)
        self._names: dict[int, str] = {}
        self._symbols: Symbols | None = None

    def state(self, most: int) -> State:
        """Return the mutexes and other objects with most waiting since the last call; at most half
        of `most`, rounded up, are other objects. Acquisitions and the call sites of holds are not
        known; `holder` is the call site of the waits."""
        target, now = self._target, self._target.elapsed
        samples = target.samples
        began, self._before = self._before, now
        cpu_before, self._cpu_before = self._cpu_before, cpu_time(target.process)
        lost: defaultdict[int, float] = defaultdict(float)
        by_caller: defaultdict[int, defaultdict[int, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        waiting: defaultdict[int, int] = defaultdict(int)
        for _, wait in (*samples.waits, *target.asleep.items()):
            if wait.address in samples.owned:
                length = max(0.0, min(wait.end, now) - max(wait.begin, began))
                lost[wait.address] += length
                by_caller[wait.address][wait.caller] += length
        for wait in target.asleep.values():
            if wait.address in samples.owned and now - wait.end < _RECENT:
                waiting[wait.address] += 1
        samples.waits.clear()
        seconds = max(now - began, 1.0) / 1e9
        objects = self._objects.rows([target.outside], seconds, samples.owned)
        others = min(len(objects), (most + 1) // 2)
        rows = []
        for address in sorted(lost, key=lambda key: -lost[key])[: most - others]:
            caller = max(by_caller[address], key=lambda key: by_caller[address][key])
            rows.append(
                Row(
                    name=self._name(address, caller),
                    lost=lost[address] / seconds,
                    waiting=waiting[address],
                    contended=None,
                    rate=None,
                    held_by=next((each.label for each in samples.holders_of(address)), ""),
                    holder=taken_at(self._current_symbols(), caller).label if caller else "",
                )
            )
        threads = round(samples.threads / samples.count) if samples.count else 0
        samples.threads = samples.count = 0
        samples.holders.clear()
        total = sum(lost.values())
        return State(
            elapsed=now,
            threads=threads,
            waiting=sum(waiting.values()) + sum(row.waiting for row in objects),
            lost=total / seconds,
            lost_share=share_of_interval(total, cpu_before, self._cpu_before),
            rows=tuple(rows),
            objects=tuple(sorted(objects, key=lambda row: -row.waited)[:others]),
        )

    def _current_symbols(self) -> Symbols:
        if self._symbols is None:
            self._symbols = self._target.symbols()
        return self._symbols

    def _name(self, address: int, caller: int) -> str:
        if address not in self._names:
            # It may lie in a file that was loaded later.
            if self._current_symbols().mapping(address) is None:
                self._symbols = None
            self._names[address] = name_of(place_of(address, caller, self._current_symbols()), True)
        return self._names[address]
