"""A profile on the terminal: the mutexes and reader-writer locks that cost most, and a line about
the process."""

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockwright.base import numbers
from lockwright.base.terminal import print_wrapped
from lockwright.base.wording import counted
from lockwright.profile import chain_lines, long_holds
from lockwright.profile.record import Mutex, Process, Profile, RwLock
from lockwright.profile.time_lost import OF_WHICH_TIME
from lockwright.profile.waiting import KINDS, Account, Times, WaitObject

_ROWS = 5

_ENDS = 3
"""Limit on the places where waiting ends."""

_WIDE = 140
"""Least columns of a terminal at which the table has the call sites; else they are below it."""

_WORTH_NAMING = 0.005
"""Least share of the threads' lives of a kind of waiting that is named."""

_Column = tuple[str, Literal["left", "right"]]

_FIGURES: tuple[_Column, ...] = (
    ("mutex", "left"),
    ("lost", "right"),
    ("taken", "right"),
    ("contended", "right"),
    ("wait p50", "right"),
    ("p99", "right"),
    ("hold p50", "right"),
    ("p99", "right"),
)

_SITES: tuple[_Column, ...] = (("waits most in", "left"), ("while held by", "left"))


def show(console: Console, profile: Profile) -> None:
    """Print what the threads did, a line about the process, tables of mutexes, reader-writer locks
    and other objects, that with the longest waiting first, where waiting ends, and why the profile
    is partial."""
    if profile.account.all.lived:
        console.print(f"lockwright: {account_sentence(profile.account.all)}", soft_wrap=True)
        console.print(_account_table(profile.account))
    console.print(f"lockwright: {sentence(profile)}", soft_wrap=True)
    tables = (
        (_show_mutexes, max((each.lost for each in profile.mutexes), default=0.0)),
        (_show_rwlocks, max((each.lost for each in profile.rwlocks), default=0.0)),
        (_show_waits, max((each.waited for each in profile.waits), default=0.0)),
    )
    for show_table, _ in sorted(tables, key=lambda table: -table[1]):
        show_table(console, profile)
    for text in chain_lines.sentences(profile, _ENDS):
        console.print(f"lockwright: {text}", soft_wrap=True, markup=False)
    for index in range(min(_ROWS, len(profile.mutexes))):
        if long_holds.reason(profile, index) is not None:
            text = long_holds.sentence(profile, index)
            console.print(f"lockwright: {text}", soft_wrap=True, markup=False)
    if profile.partial:
        console.print(f"lockwright: {profile.partial}", soft_wrap=True)


def _show_mutexes(console: Console, profile: Profile) -> None:
    if profile.mutexes:
        is_wide = console.width >= _WIDE
        console.print(_table(profile, is_wide))
        for line in () if is_wide else _places(profile):
            print_wrapped(console, "  ", line, "default")


def _show_rwlocks(console: Console, profile: Profile) -> None:
    if profile.rwlocks:
        console.print(_rwlock_table(profile.rwlocks[:_ROWS]))
        for line in _rwlock_places(profile.rwlocks[:_ROWS]):
            print_wrapped(console, "  ", line, "default")


def _show_waits(console: Console, profile: Profile) -> None:
    if profile.waits:
        console.print(_waits_table(profile.waits[:_ROWS]))
        for each in profile.waits[:_ROWS]:
            if place := wait_place(each):
                print_wrapped(console, "  ", f"{each.name}: {place}", "default")


def account_sentence(times: Times) -> str:
    """Return what all threads did, in one line."""
    waiting = sum(times.waiting.values())
    kinds = ", ".join(
        f"{KINDS[kind]} {numbers.share(seconds / times.lived)}"
        for kind, seconds in list(times.waiting.items())[:3]
        if seconds >= _WORTH_NAMING * times.lived
    )
    return ", ".join(
        [
            f"{counted(times.threads, 'thread')} lived {numbers.time(times.lived * 1e9)} together:"
            f" {numbers.share(times.running / times.lived)} running",
            f"{numbers.share(times.runnable / times.lived)} runnable without a processor",
            f"{numbers.share(waiting / times.lived)} waiting" + (f" ({kinds})" if kinds else ""),
            f"{numbers.share(times.sleeping / times.lived)} asleep otherwise",
        ]
    )


def _account_table(account: Account) -> Table:
    """Return the table of the longest-lived roles. The kinds of waiting that matter have a column
    each."""
    kinds = [
        kind
        for kind, seconds in account.all.waiting.items()
        if seconds >= _WORTH_NAMING * account.all.lived
    ]
    names = ["threads", "lived", "running", "runnable", *(KINDS[kind] for kind in kinds), "asleep"]
    table = _table_of((("role", "left"), *((name, "right") for name in names)))
    for role in account.roles[:_ROWS]:
        times = role.times
        parts = [times.running, times.runnable, *(times.waiting.get(kind, 0.0) for kind in kinds)]
        shares = [numbers.share(part / times.lived) for part in (*parts, times.sleeping)]
        cells = [role.name, numbers.count(times.threads), numbers.time(times.lived * 1e9), *shares]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _table(profile: Profile, with_sites: bool) -> Table:
    """Return the table of the mutexes that cost most, by the time that threads lost waiting for
    them."""
    mutex_table = _table_of((*_FIGURES, *_SITES) if with_sites else _FIGURES)
    for mutex in profile.mutexes[:_ROWS]:
        mutex_table.add_row(*(Text(cell) for cell in row(mutex)[: len(mutex_table.columns)]))
    return mutex_table


def _table_of(columns: tuple[_Column, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in columns:
        table.add_column(name, justify=side, no_wrap=side == "right", overflow="fold")
    return table


def _rwlock_table(rwlocks: Sequence[RwLock]) -> Table:
    """Return the table of reader-writer locks: a line for the readers of each, and one for its
    writers."""
    table = _table_of((("reader-writer lock", "left"), ("side", "left"), *_FIGURES[1:]))
    for each in rwlocks:
        share = f" ({numbers.share(each.read_share)} reads)" if each.acquisitions else ""
        for name, side in ((each.name + share, each.readers), ("", each.writers)):
            cells = [name, side.type, *row(side)[1 : len(_FIGURES)]]
            table.add_row(*(Text(cell) for cell in cells))
    return table


def _waits_table(waits: Sequence[WaitObject]) -> Table:
    """Return the table of the other objects that threads waited for longest."""
    table = _table_of(
        (
            ("other object", "left"),
            ("kind", "left"),
            ("waited", "right"),
            ("waits", "right"),
            ("mean", "right"),
            ("to resume", "right"),
        )
    )
    for each in waits:
        cells = [
            each.name,
            each.kind_label,
            numbers.time(each.waited),
            numbers.count(each.waits) if each.waits else "-",
            _time(each.mean),
            _time(each.resuming / each.resumed) if each.resumed else "-",
        ]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def wait_place(of: WaitObject) -> str:
    """Return where threads waited most for an object, and whose calls ended most of the waits."""
    waiter, waker = of.waiter, of.waker
    parts = [f"waits most in {waiter}"] if waiter and waiter not in of.name else []
    parts += [f"ended in {waker}"] if waker else []
    parts += [f"held by {of.holders[0].label}"] if of.holders else []
    return ", ".join(parts)


def _rwlock_places(rwlocks: Sequence[RwLock]) -> list[str]:
    return [
        f"{each.name}: {side.type} wait {line}"
        for each in rwlocks
        for side in (each.readers, each.writers)
        if (line := _place(side))
    ]


def _places(profile: Profile) -> list[str]:
    """Return a line for each mutex of the table that threads waited for: where they waited most,
    and for which holder."""
    return [
        f"{mutex.name}: waits {line}"
        for mutex in profile.mutexes[:_ROWS]
        if (line := _place(mutex))
    ]


def _place(mutex: Mutex) -> str:
    """Return where threads waited most for a mutex, and for which holder; "" if none waited."""
    waiter, holder = row(mutex)[len(_FIGURES) :]
    held = f", while held by {holder}" if holder else ""
    return f"most in {waiter}{held}" if waiter else ""


def sentence(profile: Profile) -> str:
    """Return the process in one line."""
    process = profile.process
    taken = process.lock_calls or process.unprofiled_calls or profile.rwlocks
    if not profile.mutexes and not taken:
        if not profile.is_preloaded:
            return "no sample found a thread asleep for a mutex"
        if profile.is_unseen:
            return "no mutex was recorded"
        return "the program took no mutex" + _others(profile)
    parts = [
        f"{numbers.time(process.duration)}",
        f"{_threads(process)} on {counted(process.processors, 'processor')}",
        *([counted(process.lock_calls, "acquisition")] if profile.is_preloaded else []),
        f"{numbers.time(profile.lost)} lost waiting"
        + (f" ({numbers.share(profile.lost_share)} {OF_WHICH_TIME})" if profile.lost else ""),
        *filter(None, [long_holds.parts(profile)]),
        *_of_rwlocks(profile),
    ]
    if process.busy_share is not None:
        parts.append(f"processors {numbers.share(process.busy_share)} busy")
    if process.cond_waits:
        parts.append(f"{numbers.count(process.cond_waits)} condition variable waits")
    if process.unprofiled_calls:
        parts.append(
            f"{numbers.count(process.unprofiled_calls)} acquisitions of shared, robust or priority"
            " mutexes were not profiled"
        )
    return ", ".join(parts)


def _threads(process: Process) -> str:
    if process.threads_seen <= process.threads_most:
        return counted(process.threads_most, "thread")
    return f"{process.threads_seen} threads, at most {process.threads_most} at once,"


def _of_rwlocks(profile: Profile) -> list[str]:
    """Return the acquisitions of reader-writer locks, and the time lost for them."""
    if not profile.rwlocks:
        return []
    taken = sum(each.acquisitions for each in profile.rwlocks)
    share = numbers.share(profile.lost_share_of(profile.rwlocks_lost))
    lost = f" ({share})" if profile.rwlocks_lost else ""
    return [
        f"{counted(taken, 'acquisition')} of reader-writer locks",
        f"{numbers.time(profile.rwlocks_lost)} lost waiting for them{lost}",
    ]


def _others(profile: Profile) -> str:
    """Return the remark on other locks of a program without mutexes."""
    process = profile.process
    if process.rwlock_calls:
        return (
            f"; its {counted(process.rwlock_calls, 'call')} of process-shared reader-writer locks"
            " were not profiled"
        )
    return f", and spin locks {counted(process.spin_calls, 'time')}" if process.spin_calls else ""


def _time(ns: float) -> str:
    """Return a duration; `-` for 0, which means that there is no distribution."""
    return numbers.time(ns) if ns else "-"


def row(mutex: Mutex) -> list[str]:
    """Return the cells of a mutex in the table."""
    waiter = max(mutex.sites, key=lambda site: site.waited, default=None)
    block = max(mutex.blocks, key=lambda edge: edge.waited, default=None)
    return [
        mutex.name,
        numbers.time(mutex.lost),
        numbers.count(mutex.acquisitions) if mutex.acquisitions else "-",
        numbers.share(mutex.contended_share) if mutex.acquisitions else "-",
        _time(mutex.waiting.p50),
        _time(mutex.waiting.p99),
        _time(mutex.holding.p50),
        _time(mutex.holding.p99),
        waiter.label if waiter is not None and waiter.waited else "",
        mutex.holder(block)
        if block is not None
        else next((each.label for each in mutex.holders), ""),
    ]
