"""The figures of the mutexes of a profile, for mutexes.html."""

from collections.abc import Iterable
from typing import TypeVar

from lockwright.base import numbers
from lockwright.base.wording import counted
from lockwright.page.rows import Cell, Row
from lockwright.profile.frames import Frame
from lockwright.profile.record import (
    CREATED,
    FIRST_TAKEN,
    OBJECT,
    Block,
    Distribution,
    Mutex,
    Profile,
    Site,
)

_Waited = TypeVar("_Waited", Site, Block)

WORST = 5
"""Number of mutexes whose sections are open, if they have at least _OPEN_SHARE."""

_OPEN_SHARE = 0.01
"""Share of all waiting for mutexes."""

SECTIONS = 25
"""Number of mutexes with a section of their own."""

ROWS = 500
"""Number of mutexes in the table."""

_SITES = 12
"""Number of call sites, and pairs of them, in the tables of a mutex."""

_ORIGINS = {OBJECT: "a variable", CREATED: "initialised at", FIRST_TAKEN: "first taken at"}

COLUMNS = (
    "mutex",
    "time lost",
    "acquisitions",
    "contended",
    "wait p50",
    "wait p99",
    "hold p50",
    "hold p99",
    "waiters",
    "threads",
)


def is_open(profile: Profile, index: int) -> bool:
    """Return whether the section of the mutex at this index is open initially."""
    return index < WORST and profile.mutexes[index].lost >= _OPEN_SHARE * profile.lost


def rows(profile: Profile) -> list[Row]:
    """Return a row for each mutex, up to ROWS."""
    return [_row(index, mutex) for index, mutex in enumerate(profile.mutexes[:ROWS])]


def _row(index: int, mutex: Mutex) -> Row:
    share, taken = mutex.contended_share, mutex.acquisitions > 0
    name = mutex.name if mutex.instances == 1 else f"{mutex.name} (x{mutex.instances:,})"
    cells = [
        (name, name),
        time_cell(mutex.lost, bool(mutex.contended)),
        (numbers.count(mutex.acquisitions) if taken else "-", repr(mutex.acquisitions)),
        (numbers.share(share) if taken else "-", repr(share)),
        *median_and_p99(mutex.waiting),
        *median_and_p99(mutex.holding),
        (f"{mutex.waiters_mean:.2g}", repr(mutex.waiters_mean)),
        (str(mutex.threads), str(mutex.threads)),
    ]
    return Row(cells, link=f"#mutex-{index}" if index < SECTIONS else "")


def median_and_p99(distribution: Distribution) -> list[Cell]:
    """Return the cells of the median and the 99th percentile."""
    return [
        time_cell(value, distribution.count > 0) for value in (distribution.p50, distribution.p99)
    ]


def time_cell(ns: float, known: bool) -> Cell:
    """Return the cell of a duration, or of one that is not known."""
    return (numbers.time(ns), repr(ns)) if known else ("-", "")


def facts(mutex: Mutex) -> dict[str, str]:
    """Return the figures of a mutex by their names."""
    place = mutex.place
    figures = {"kind": _kind(mutex), "where": f"{_ORIGINS[place.kind]} {_frame(place.frame)}"}
    if place.stack[1:]:
        figures["called from"] = " ← ".join(frame.label for frame in place.stack[1:])
    figures["acquisitions"] = (
        f"not known from outside; {counted(mutex.contended, 'wait')} of"
        f" {counted(mutex.threads, 'thread')}"
        if not mutex.acquisitions
        else f"{numbers.count(mutex.acquisitions)} by {counted(mutex.threads, 'thread')};"
        f" {numbers.count(mutex.contended)} found it held ({numbers.share(mutex.contended_share)})"
    )
    figures["waiting"] = _distribution(mutex.waiting)
    figures["holding"] = _distribution(mutex.holding)
    figures["handover"] = _distribution(mutex.hand_over)
    figures["waiters"] = (
        f"{mutex.waiters_mean:.2g} on average while it was in use, {mutex.waiters_most} at most;"
        f" {mutex.sampled_times:,} samples"
        if mutex.sampled_times
        else "not sampled"
    )
    if mutex.acquisitions:
        figures["changes of the owner"] = numbers.share(mutex.owner_changes)
        figures["holder preempted"] = f"in {numbers.share(mutex.preempted_holds)} of holds"
        figures["holder asleep"] = f"for {numbers.share(mutex.slept)} of the time held"
    if mutex.trylocks:
        figures["trylock"] = (
            f"{numbers.count(mutex.trylocks)} calls, {numbers.count(mutex.failed_trylocks)} failed"
        )
    if mutex.cond_waits or mutex.cond_signals:
        figures["condition variables"] = (
            f"{counted(mutex.cond_waits, 'wait')}, {counted(mutex.cond_signals, 'signal')},"
            f" {counted(mutex.futile_wakeups, 'futile wake-up')}"
        )
    return figures


def _kind(mutex: Mutex) -> str:
    kind = f"{mutex.type} mutex"
    if mutex.instances > 1:
        return f"{mutex.instances:,} of one place; {kind}"
    return f"{kind}, at {mutex.address:#x}"


def _distribution(durations: Distribution) -> str:
    if not durations.count:
        return "none"
    return (
        f"{numbers.time(durations.total)} in all; p50 {numbers.time(durations.p50)},"
        f" p90 {numbers.time(durations.p90)}, p99 {numbers.time(durations.p99)},"
        f" at most {numbers.time(durations.most)}; {durations.samples:,} timed"
    )


def _frame(frame: Frame) -> str:
    return f"{frame.label} in {frame.module}" if frame.module else frame.label


def worst(items: Iterable[_Waited]) -> list[_Waited]:
    """Return the sites or blocks with the most waiting, up to _SITES."""
    return sorted(items, key=lambda item: -item.waited)[:_SITES]


def site_rows(mutex: Mutex, sites: Iterable[Site]) -> list[Row]:
    """Return a row for each call site."""
    return [
        Row(
            [
                (site.label or "unknown",) * 2,
                time_cell(site.waited, True),
                time_cell(site.held, True),
                (
                    numbers.count(site.acquisitions) if mutex.acquisitions else "-",
                    repr(site.acquisitions),
                ),
                (numbers.count(site.contended), repr(site.contended)),
            ]
        )
        for site in sites
    ]


def block_rows(mutex: Mutex, blocks: Iterable[Block]) -> list[Row]:
    """Return a row for each pair of a holder's and a waiter's call site."""
    return [
        Row(
            [
                (mutex.holder(block) or "unknown",) * 2,
                (mutex.waiter(block) or "unknown",) * 2,
                time_cell(block.waited, True),
                (numbers.count(block.times), repr(block.times)),
            ]
        )
        for block in blocks
    ]
