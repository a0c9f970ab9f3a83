"""The account of a process's threads: what each role did with its time.

Threads that ended left their sums in the buffer; of those that lived to the end, the kernel's sums
are of the last sample, and so is the end of their account.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lockwright.profile.buffer import Buffer
from lockwright.profile.function_names import brief
from lockwright.profile.record import Account, Role, Times, WaitKind, WaitObject
from lockwright.profile.symbols import Symbols
from lockwright.profile.waits import KIND_NAMES
from lockwright.profile.watch import AliveThread, Samples

_MOST = 64
"""Limit on the roles: the longest lived."""

_NUMBER = re.compile(r"[-_:#/. ]*\d+$")
_STD_THREAD = re.compile(r"vtable for std::thread::_State_impl<.*?std::tuple<(.*?)> ?> ?>(?:\+.*)?")


@dataclass
class _Sums:
    """Sums over threads, in ns. waited: by the numbers of kinds of objects, 0 for locks."""

    threads: int = 0
    lived: float = 0
    ran: float = 0
    ready: float = 0
    waited: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, other: "_Sums") -> None:
        self.threads += other.threads
        self.lived += other.lived
        self.ran += other.ran
        self.ready += other.ready
        for kind, ns in other.waited.items():
            self.waited[kind] += ns


def account_of(
    buffer: Buffer, symbols: Symbols, samples: Samples, waits: Sequence[WaitObject]
) -> Account:
    """Return the account of all threads. waits: tell what the futexes of other libraries are, and
    how long threads took to run again."""
    if not buffer.is_claimed:
        return Account()
    by_role: defaultdict[str, _Sums] = defaultdict(_Sums)
    program = samples.alive[buffer.pid].name if buffer.pid in samples.alive else ""
    for row in buffer["roles"][buffer["roles"]["threads"] != 0]:
        name = bytes(row["name"]).split(b"\0")[0].decode(errors="replace")
        by_role[_role(name, int(row["routine"]), program, symbols)].add(_ended(row, buffer))
    lives = buffer["lives"]
    routines = dict(zip(lives["tid"].tolist(), lives["routine"].tolist(), strict=True))
    for tid, thread in samples.alive.items():
        if thread.is_noted and tid not in routines:
            continue  # it has ended since
        is_main = tid == buffer.pid
        name = "main" if is_main else _role(thread.name, routines.get(tid, 0), program, symbols)
        by_role[name].add(_alive(tid, thread, buffer))
    shares, on_time = _shares_of_futexes(waits), _shares_before_wakes(waits)
    roles = [Role(name, _times(sums, shares, on_time)) for name, sums in by_role.items()]
    roles.sort(key=lambda role: -role.times.lived)
    return Account(_total([role.times for role in roles]), tuple(roles[:_MOST]))


def _role(name: str, routine: int, program: str, symbols: Symbols) -> str:
    if name and name != program:
        return _NUMBER.sub("", name) or name
    symbol = symbols.place(routine).symbol if routine else ""
    if found := _STD_THREAD.match(symbol):
        symbol = found.group(1)
    return brief(symbol) if symbol else "threads"


def _ended(row: np.void, buffer: Buffer) -> _Sums:
    ns = buffer.nanoseconds
    sums = _Sums(int(row["threads"]), int(row["lived"]), int(row["ran"]), int(row["ready"]))
    sums.waited[0] = int(row["locks"]) * ns
    for index, ticks in enumerate(row["objects"]):
        sums.waited[index + 1] = int(ticks) * ns
    return sums


def _alive(tid: int, thread: AliveThread, buffer: Buffer) -> _Sums:
    sums = _Sums(1, thread.seen_ns - thread.begin_ns, thread.ran, thread.ready)
    end = buffer.ticks_at(thread.seen_ns)
    slots = buffer.threads
    for slot in slots[(slots["tid"] == tid) & (slots["has_ended"] == 0)]:
        sums.waited[0] += int(slot["all_waited"])
        for index, ticks in enumerate(slot["object_waited"]):
            sums.waited[index + 1] += int(ticks)
        if slot["waiting_for"]:
            sums.waited[0] += max(0, end - int(slot["waiting_since"]))
        if slot["object"]:
            kind = buffer.kind_of_object(int(slot["object"]) - 1)
            sums.waited[kind] += max(0, end - int(slot["object_since"]))
    for kind in sums.waited:
        sums.waited[kind] *= buffer.nanoseconds
    return sums


def _shares_of_futexes(waits: Sequence[WaitObject]) -> dict[WaitKind, float]:
    """Return the kinds of the futexes of other libraries, with their shares of the time waited."""
    sums: defaultdict[WaitKind, float] = defaultdict(float)
    for each in waits:
        if each.is_futex:
            sums[each.kind] += each.waited
    total = sum(sums.values())
    return {kind: ns / total for kind, ns in sums.items()} if total else {"futex": 1.0}


def _shares_before_wakes(waits: Sequence[WaitObject]) -> dict[WaitKind, float]:
    """Return, by kind, the share of the time waited that passed before the waker's call. After it,
    a thread is ready to run, runs, or waits for a mutex."""
    waited: defaultdict[WaitKind, float] = defaultdict(float)
    resuming: defaultdict[WaitKind, float] = defaultdict(float)
    for each in waits:
        waited[each.kind] += each.waited
        resuming[each.kind] += each.resuming
    return {kind: 1 - min(1.0, resuming[kind] / ns) for kind, ns in waited.items() if ns}


def _times(sums: _Sums, futexes: dict[WaitKind, float], on_time: dict[WaitKind, float]) -> Times:
    waiting: defaultdict[WaitKind, float] = defaultdict(float)
    waiting["lock"] = sums.waited.get(0, 0.0)
    for number, name in enumerate(KIND_NAMES, 1):
        ns = sums.waited.get(number, 0.0)
        shares: dict[WaitKind, float] = futexes if name == "futex" else {name: 1.0}
        for kind, share in shares.items():
            waiting[kind] += ns * share * on_time.get(kind, 1.0)
    # A wait also contains time in which the thread ran or was ready to.
    asleep = max(0.0, sums.lived - sums.ran - sums.ready)
    waited = sum(waiting.values())
    scale = min(1.0, asleep / waited) if waited else 0.0
    return Times(
        threads=sums.threads,
        lived=max(sums.lived, sums.ran + sums.ready) / 1e9,
        running=sums.ran / 1e9,
        runnable=sums.ready / 1e9,
        sleeping=(asleep - scale * waited) / 1e9,
        waiting={kind: ns * scale / 1e9 for kind, ns in waiting.items() if ns},
    )


def _total(parts: Sequence[Times]) -> Times:
    waiting: defaultdict[WaitKind, float] = defaultdict(float)
    for part in parts:
        for kind, seconds in part.waiting.items():
            waiting[kind] += seconds
    return Times(
        threads=sum(part.threads for part in parts),
        lived=sum(part.lived for part in parts),
        running=sum(part.running for part in parts),
        runnable=sum(part.runnable for part in parts),
        sleeping=sum(part.sleeping for part in parts),
        waiting=dict(sorted(waiting.items(), key=lambda item: -item[1])),
    )
