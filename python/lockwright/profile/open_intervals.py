"""Waits and holds that had not ended when the process did.

A thread records a wait when it is over, which never happens in a deadlock or if the mutex is held
to the end, but the buffer has the start of the interval.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lockwright.profile.buffer import HOLD, WAIT, Buffer, Rows, SpanKind, has, lower_bounds


@dataclass(frozen=True)
class OpenInterval:
    """An unfinished wait or hold. kind: WAIT or HOLD; record, thread: their numbers; caller: of the
    lock function, 0 if unknown; begin, end: in ticks of the clock; holder: of a wait, the caller
    that held the lock when it began, 0 if unknown."""

    kind: SpanKind
    record: int
    thread: int
    caller: int
    begin: int
    end: int
    holder: int = 0

    @property
    def ticks(self) -> int:
        """The duration in ticks."""
        return self.end - self.begin


def open_intervals(buffer: Buffer, last_ns: int) -> list[OpenInterval]:
    """Return the open waits and holds at the last sample of the process, at `last_ns` of the
    monotonic clock. Later ones cannot be distinguished from the end of the process."""
    if not buffer.is_claimed or not last_ns:
        return []
    end = buffer.ticks_at(last_ns)
    records = buffer.records
    intervals = []
    for thread in buffer.threads[buffer.threads["waiting_for"] != 0]:
        number, begin = int(thread["waiting_for"]) - 1, int(thread["waiting_since"])
        if number < len(records) and 0 < begin < end:
            caller, holder = int(thread["waiting_site"]), int(thread["waiting_behind"])
            intervals.append(
                OpenInterval(WAIT, number, int(thread["number"]), caller, begin, end, holder)
            )
    held = (records["hold_begin"] > records["released"]) & (records["hold_begin"] < end)
    held &= ~has(records, "is_shared") & (records["destroyed"] == 0)
    for number in (int(index) for index in np.flatnonzero(held)):
        record = records[number]
        thread_number = max(int(record["last_thread"]) - 1, 0)
        caller, begin = _holder(buffer, record), int(record["hold_begin"])
        intervals.append(OpenInterval(HOLD, number, thread_number, caller, begin, end))
    return intervals


def _holder(buffer: Buffer, record: np.void) -> int:
    """Return the caller of the lock function for the last recorded hold."""
    if record["detail"] and record["hold_site"]:
        detail = buffer.details[int(record["detail"]) - 1]
        return int(detail["sites"]["caller"][int(record["hold_site"]) - 1])
    return int(record["first_site"]) if record["samples"] == 1 else 0


def deadlock_cycle(intervals: Iterable[OpenInterval]) -> list[int]:
    """Return the records of the mutexes in a deadlock: the holder of each waited for the next, and
    the holder of the last for the first. Empty if there was none."""
    intervals = list(intervals)
    holders = {hold.record: hold.thread for hold in intervals if hold.kind == HOLD}
    awaited = {wait.thread: wait.record for wait in intervals if wait.kind == WAIT}
    for start in awaited:
        passed: list[int] = []
        thread = start
        while thread in awaited and awaited[thread] in holders and awaited[thread] not in passed:
            passed.append(awaited[thread])
            thread = holders[passed[-1]]
        if passed and thread == start:
            return passed
    return []


def as_details(buffer: Buffer, open_intervals: Iterable[OpenInterval]) -> Rows:
    """Return the intervals as rows of the buffer's details, one for each mutex."""
    by_record: defaultdict[int, list[OpenInterval]] = defaultdict(list)
    for interval in open_intervals:
        by_record[interval.record].append(interval)
    rows = np.zeros(len(by_record), buffer.details.dtype)
    bounds = lower_bounds()
    for row, (number, intervals) in zip(rows, by_record.items(), strict=True):
        sites: dict[int, int] = {}
        record = buffer.records[number]
        if not record["detail"]:
            first = row["sites"][_site(row, sites, int(record["first_site"]))]
            first["acquisitions"], first["held"] = record["acquisitions"], record["held"]
        last = next((interval.caller for interval in intervals if interval.kind == HOLD), 0)
        for interval in intervals:
            site = _site(row, sites, interval.caller) if interval.caller else -1
            bucket = int(np.searchsorted(bounds, interval.ticks, "right")) - 1
            waits = interval.kind == WAIT
            row["waiting" if waits else "holding"][min(bucket, len(bounds) - 2)] += 1
            if site >= 0:
                row["sites"][site]["waited" if waits else "held"] += interval.ticks
                row["sites"][site]["contended"] += waits
            if waits and site >= 0:
                holder = interval.holder or last
                edge = row["wait_edges"][site]
                edge["holder"] = _site(row, sites, holder) + 1 if holder else 0
                edge["waiter"] = site + 1
                edge["times"] += 1
                edge["waited"] += interval.ticks
    return rows


def _site(row: np.void, sites: dict[int, int], caller: int) -> int:
    """Return the index of a caller's site; all callers beyond the table share the last one."""
    site = sites.setdefault(caller, min(len(sites), len(row["sites"]) - 1))
    row["sites"][site]["caller"] = caller
    return site
