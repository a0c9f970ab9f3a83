"""The account of a process's threads: what each role did with its time.

Threads that ended left their sums in the buffer; of those that lived to the end, the kernel's sums
are of the last sample, and so is the end of their account.
"""

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from lockwright.preload import loads
from lockwright.profile.buffer import Buffer
from lockwright.profile.function_names import brief
from lockwright.profile.mutex_lines import short_name
from lockwright.profile.symbols import Symbols
from lockwright.profile.thread_states import ThreadKind
from lockwright.profile.waiting import Account, Role, Times, WaitKind, WaitObject
from lockwright.profile.waits import KIND_NAMES
from lockwright.profile.watch import AliveThread, Samples

_MOST = 64
"""Limit on the roles: the longest lived."""

_UNNOTED_NS = 100_000_000
"""The longest from the beginning of a thread until its library notes it, on busy processors."""

_NAME = 15
"""Most characters of a thread's name."""

_NUMBER = re.compile(r"[-_:#/. ]*\d+$")
_STD_THREAD = re.compile(r"vtable for std::thread::_State_impl<.*?std::tuple<(.*?)> ?> ?>(?:\+.*)?")


@dataclass
class _Sums:
    """Sums over threads, in ns. locks: waited for mutexes and reader-writer locks; waited: for
    other objects, by kind, until their wakers' calls: after these a thread is ready to run, runs,
    or waits for a mutex."""

    threads: int = 0
    lived: float = 0
    ran: float = 0
    ready: float = 0
    waited: dict[WaitKind, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, other: "_Sums") -> None:
        self.threads += other.threads
        self.lived += other.lived
        self.ran += other.ran
        self.ready += other.ready
        for kind, ns in other.waited.items():
            self.waited[kind] += ns


def account_of(
    buffer: Buffer, symbols: Symbols, samples: Samples, waits: Mapping[int, Sequence[WaitObject]]
) -> Account:
    """Return the account of all threads. waits: the objects, or their parts, by their numbers."""
    if not buffer.is_claimed:
        return Account()
    by_role: defaultdict[str, _Sums] = defaultdict(_Sums)
    program = program_name(buffer, samples)
    for row in buffer["roles"][buffer["roles"]["threads"] != 0]:
        name = bytes(row["name"]).split(b"\0")[0].decode(errors="replace")
        kind = ThreadKind(name, int(row["routine"]), is_main=False)
        by_role[role_of(kind, program, symbols)].add(_ended(row, buffer, waits))
    lives = buffer["lives"]
    has_ended = lives["has_ended"] != 0
    ended = set(lives["tid"][has_ended].tolist())
    lives = lives[~has_ended]
    routines = dict(zip(lives["tid"].tolist(), lives["routine"].tolist(), strict=True))
    for tid, thread in samples.alive.items():
        is_main = tid == buffer.pid
        is_new = thread.seen_ns - thread.begin_ns < _UNNOTED_NS and not is_main
        if (thread.is_noted or is_new or tid in ended) and tid not in routines:
            continue  # it has ended since
        kind = ThreadKind(thread.name, routines.get(tid, 0), is_main)
        by_role[role_of(kind, program, symbols)].add(_alive(tid, thread, buffer, waits))
    roles = [Role(name, _times(sums)) for name, sums in by_role.items()]
    roles.sort(key=lambda role: -role.times.lived)
    return Account(total([role.times for role in roles]), tuple(roles[:_MOST]))


def program_name(buffer: Buffer, samples: Samples) -> str:
    """Return the name of a process's first thread, which others have unless they were given one:
    that of the program, if no sample saw it."""
    seen = samples.alive.get(buffer.pid)
    return seen.name if seen is not None else program_of(buffer)[:_NAME]


def program_of(buffer: Buffer) -> str:
    """Return the file name of a process's program."""
    return PurePath(os.fsdecode(loads.bytes_of(buffer["program"]))).name


def role_of(kind: ThreadKind, program: str, symbols: Symbols) -> str:
    """Return the role of a thread. program: the name of the first thread."""
    if kind.is_main:
        return "main"
    if kind.name and kind.name != program:
        return _NUMBER.sub("", kind.name) or kind.name
    if not kind.routine:
        return "threads"
    frame = symbols.place(kind.routine)
    if not (found := _STD_THREAD.match(frame.symbol)):
        return short_name(frame)
    # The type of a function does not name it.
    return f"std::thread of {found.group(1)}" if "(*)" in found.group(1) else brief(found.group(1))


def _ended(row: np.void, buffer: Buffer, waits: Mapping[int, Sequence[WaitObject]]) -> _Sums:
    sums = _Sums(int(row["threads"]), int(row["lived"]), int(row["ran"]), int(row["ready"]))
    sums.waited["lock"] += int(row["locks"]) * buffer.nanoseconds
    _add_objects(sums, row["awaited"], row["objects"], buffer, waits)
    return sums


def _alive(
    tid: int, thread: AliveThread, buffer: Buffer, waits: Mapping[int, Sequence[WaitObject]]
) -> _Sums:
    sums = _Sums(1, thread.seen_ns - thread.begin_ns, thread.ran, thread.ready)
    end = buffer.ticks_at(thread.seen_ns)
    slots = buffer.threads
    # The end of a thread whose beginning was not noted is not noted in the account either.
    for slot in slots[(slots["tid"] == tid) & ((slots["has_ended"] == 0) | (not thread.is_noted))]:
        locks = int(slot["all_waited"])
        if slot["waiting_for"]:
            locks += max(0, end - int(slot["waiting_since"]))
        sums.waited["lock"] += locks * buffer.nanoseconds
        _add_objects(sums, slot["awaited"], slot["object_waited"], buffer, waits)
        number = int(slot["object"]) - 1
        if number in waits:
            ticks = max(0, end - int(slot["object_since"]))
            _add_wait(sums, waits[number], ticks * buffer.nanoseconds)
    return sums


def _add_objects(
    sums: _Sums, table: Any, others: Any, buffer: Buffer, waits: Mapping[int, Sequence[WaitObject]]
) -> None:
    """Add the waits of a table of objects, and of others by their kinds."""
    for row in table[table["object"] != 0]:
        if (parts := waits.get(int(row["object"]) - 1)) is not None:
            waited = sum(part.waited for part in parts)
            resuming = sum(part.resuming for part in parts)
            before_wake = 1 - min(1.0, resuming / waited) if waited else 0.0
            _add_wait(sums, parts, int(row["waited"]) * buffer.nanoseconds * before_wake)
    for kind, ticks in zip(KIND_NAMES, others, strict=False):
        sums.waited[kind] += int(ticks) * buffer.nanoseconds


def _add_wait(sums: _Sums, parts: Sequence[WaitObject], ns: float) -> None:
    """Add a wait for an object, divided among its parts as all waits for it are."""
    waited = sum(part.waited for part in parts)
    for part in parts:
        share = part.waited / waited if waited else 1 / len(parts)
        sums.waited[part.kind] += ns * share


def _times(sums: _Sums) -> Times:
    # A wait for a lock also contains time in which the thread ran or was ready to.
    asleep = max(0.0, sums.lived - sums.ran - sums.ready)
    waited = sum(sums.waited.values())
    scale = min(1.0, asleep / waited) if waited else 0.0
    return Times(
        threads=sums.threads,
        lived=max(sums.lived, sums.ran + sums.ready) / 1e9,
        running=sums.ran / 1e9,
        runnable=sums.ready / 1e9,
        sleeping=(asleep - scale * waited) / 1e9,
        waiting={kind: ns * scale / 1e9 for kind, ns in sums.waited.items() if ns},
    )


def total(parts: Sequence[Times]) -> Times:
    """Return the sums; the kinds of waiting with most time are first."""
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
