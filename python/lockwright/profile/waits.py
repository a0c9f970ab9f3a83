"""Waits for objects other than locks, from the table of a buffer."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from lockwright.profile import libraries
from lockwright.profile.buffer import Buffer
from lockwright.profile.frames import Frame
from lockwright.profile.libraries import Library
from lockwright.profile.mutex_lines import variable_name
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import KINDS, WaitKind, WaitObject, WaitSite

_INSIDE: Final = 15
"""Offsets of a futex in the object that has it: a lock of a library has one or two words before."""

_POOL: Final = "__waiter_pool"
"""The variable with the words of all objects of libstdc++ that are no words themselves."""

_DONE: Final[dict[WaitKind, str]] = {"join": "threads joined", "thread": "threads parked"}
"""What is done at the place of a kind, where that is not called waiting."""

_ADDRESS: Final = (1 << 56) - 1
KIND_NAMES: Final[tuple[WaitKind, ...]] = (
    "condition",
    "semaphore",
    "barrier",
    "join",
    "once",
    "futex",
)
"""By the numbers of wait_object in src/probe/profile_buffer.hpp, minus one."""


@dataclass
class _Sums:
    waits: int = 0
    waited: int = 0


def wait_objects(
    buffer: Buffer,
    symbols: Symbols,
    nanoseconds: float,
    last_ns: int,
    only: Iterable[int] | None = None,
    python: Mapping[int, Counter[str]] | None = None,
) -> dict[int, tuple[WaitObject, ...]]:
    """Return the objects that threads waited for, by their numbers in the buffer: for a word on
    which a thread parks whatever it waits for, one for each place where it did, the longest waiting
    first.

    nanoseconds: of a tick; last_ns: of the monotonic clock at the process's last sample, until
    which threads that wait to the end have waited. only: the numbers of some of them; python: as in
    a ChainSampler.
    """
    rows = buffer["objects"]
    waiting_now = open_waits(buffer, last_ns)
    stacks = _stacks(buffer)
    numbers = range(len(rows)) if only is None else tuple(only)
    _read_lines(buffer, numbers, stacks, symbols)
    found = {}
    for number in numbers:
        row, still = rows[number], waiting_now.get(number, [])
        if not row["waits"] and not still:
            continue
        kind: WaitKind = KIND_NAMES[buffer.kind_of_object(number) - 1]
        waiters = _callers(row["waiters"])
        for caller, ticks in still:
            sums = waiters.setdefault(caller, _Sums())
            sums.waits += 1
            sums.waited += ticks
        waiting = _sites(waiters, stacks, buffer.first_object + number, symbols, nanoseconds)
        waking = _sites(
            _callers(row["wakers"]),
            stacks,
            buffer.first_object + len(rows) + number,
            symbols,
            nanoseconds,
        )
        whole = WaitObject(
            kind=kind,
            name="",
            library="",
            address=int(row["key"]) & _ADDRESS,
            is_futex=kind == "futex",
            waits=int(row["waits"]) + len(still),
            waited=(int(row["waited"]) + sum(ticks for _, ticks in still)) * nanoseconds,
            given_up=int(row["given_up"]),
            resumed=int(row["resumed"]),
            resuming=int(row["resuming"]) * nanoseconds,
            waiters=waiting,
            wakers=waking,
        )
        of_python = (python or {}).get(number, Counter()).most_common(1)
        found[number] = _named(whole, symbols, of_python[0][0] if of_python else "")
    return found


def _read_lines(
    buffer: Buffer,
    numbers: Iterable[int],
    stacks: dict[tuple[int, int], list[tuple[tuple[int, ...], _Sums]]],
    symbols: Symbols,
) -> None:
    """Read the source lines of all callers of some objects at once, since the reader takes seconds
    for each call where the debug information is large, as that of Java."""
    objects, wanted = buffer["objects"], list(numbers)
    rows = objects[wanted]
    callers = np.concatenate([rows[side]["caller"].ravel() for side in ("waiters", "wakers")])
    pcs = {int(pc) for pc in np.unique(callers) if pc}
    chosen = set(wanted)
    for (record, _), walked in stacks.items():
        if (record - buffer.first_object) % len(objects) in chosen:
            pcs.update(pc for stack, _ in walked for pc in stack)
    symbols.with_lines([symbols.caller(pc) for pc in pcs])


def _named(of: WaitObject, symbols: Symbols, python: str = "") -> tuple[WaitObject, ...]:
    """Return an object with its kind, library and name, or its parts, if it is the word on which a
    thread parks for all that it waits for. python: the Python function in which it was waited for;
    "" if unknown."""
    library = _library(of, of.waiters)
    named = _of_library(of, library)
    variable = _variable(named, symbols)
    if not variable and of.waiters and of.waiters[0].is_python:
        where = python or "a Python program"
        return (replace(named, name=f"{_what(named)} in {where}"),)
    if variable or library is None or not library.parks_threads:
        return (replace(named, name=variable or _place(named)),)
    places: defaultdict[tuple[str, Library | None], list[WaitSite]] = defaultdict(list)
    for site in of.waiters:
        places[site.label, _library(of, [site])].append(site)
    parts = (_part(_of_library(of, each), sites) for (_, each), sites in places.items())
    named_parts = (replace(part, name=_place(part)) for part in parts)
    return tuple(sorted(named_parts, key=lambda part: -part.waited))


def _library(of: WaitObject, sites: Iterable[WaitSite]) -> Library | None:
    """Return the library that waits at the sites of an object. Where it does by the C library's
    objects, its functions are the innermost ones."""
    if of.is_futex:
        return libraries.of(frame for site in sites for frame in site.stack)
    if of.kind not in ("condition", "semaphore"):
        return None
    return libraries.of(frame for site in sites for frame in site.stack[: site.wrappers])


def _of_library(of: WaitObject, library: Library | None) -> WaitObject:
    if library is None:
        return of
    kind = library.kind if of.is_futex or library.kind != "futex" else of.kind
    return replace(of, kind=kind, library=library.name)


def _part(of: WaitObject, sites: Sequence[WaitSite]) -> WaitObject:
    """Return what an object has of some of its waiters. Who ended their waits is not known."""
    times = sum(site.times for site in sites) / (sum(site.times for site in of.waiters) or 1)
    time = sum(site.waited for site in sites) / (sum(site.waited for site in of.waiters) or 1)
    return replace(
        of,
        address=0,
        waits=max(1, round(of.waits * times)),
        waited=of.waited * time,
        given_up=round(of.given_up * times),
        resumed=round(of.resumed * times),
        resuming=of.resuming * time,
        waiters=tuple(sites),
        wakers=tuple(
            replace(each, times=round(each.times * times), waited=each.waited * time)
            for each in of.wakers
        ),
    )


def open_waits(buffer: Buffer, last_ns: int) -> dict[int, list[tuple[int, int]]]:
    """Return the callers and ticks of the waits that had not ended, by the number of the object."""
    if not buffer.is_claimed or not last_ns:
        return {}
    end = buffer.ticks_at(last_ns)
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    threads = buffer.threads
    for thread in threads[(threads["object"] != 0) & (threads["has_ended"] == 0)]:
        if 0 < (begin := int(thread["object_since"])) < end:
            found[int(thread["object"]) - 1].append((int(thread["object_caller"]), end - begin))
    return found


def _callers(sites: Any) -> dict[int, _Sums]:
    return {
        int(site["caller"]): _Sums(int(site["times"]), int(site["waited"]))
        for site in sites
        if site["caller"]
    }


def _stacks(buffer: Buffer) -> dict[tuple[int, int], list[tuple[tuple[int, ...], _Sums]]]:
    """Return the walked stacks of waits and wakes, by the number of the object and the caller."""
    found: defaultdict[tuple[int, int], list[tuple[tuple[int, ...], _Sums]]] = defaultdict(list)
    for stack in buffer.stacks[buffer.stacks["record"] >= buffer.first_object]:
        pcs = tuple(int(pc) for pc in stack["pcs"][: int(stack["frames"])])
        sums = _Sums(int(stack["waits"]), int(stack["waited"]))
        found[int(stack["record"]), pcs[0]].append((pcs, sums))
    return found


def _sites(
    callers: dict[int, _Sums],
    stacks: dict[tuple[int, int], list[tuple[tuple[int, ...], _Sums]]],
    number: int,
    symbols: Symbols,
    nanoseconds: float,
) -> tuple[WaitSite, ...]:
    """Return the sites of all callers, most time first. The walked stacks of a caller represent
    all of its waits."""
    sites = []
    for caller, of_caller in callers.items():
        walked = stacks.get((number, caller)) or [((caller,), _Sums(1, 1))]
        all_times = sum(sums.waits for _, sums in walked)
        all_waited = sum(sums.waited for _, sums in walked)
        for pcs, sums in walked:
            share = sums.waits / all_times if all_times else 1 / len(walked)
            of_time = sums.waited / all_waited if all_waited else share
            stack = with_inlined(pcs, symbols)
            sites.append(
                WaitSite(
                    stack=stack,
                    times=round(of_caller.waits * share),
                    waited=of_caller.waited * of_time * nanoseconds,
                    wrappers=libraries.wrapper_count(stack),
                )
            )
    return tuple(sorted(sites, key=lambda site: (-site.waited, -site.times)))


def with_inlined(pcs: Iterable[int], symbols: Symbols) -> tuple[Frame, ...]:
    """Return the frames of calls that return to addresses, with those of inlined functions."""
    frames = [symbols.caller(pc) for pc in pcs]
    lines = symbols.with_lines(frames)
    return tuple(part for frame in frames for part in lines.get(frame, (frame,)))


def _variable(of: WaitObject, symbols: Symbols) -> str:
    """Return the variable that is the object or has it; "" if that is not known."""
    if of.kind == "join" or not of.address or symbols.mapping(of.address) is None:
        return ""
    frame = symbols.place(of.address)
    if not frame.symbol or _POOL in frame.symbol:
        return ""
    return variable_name(frame, _INSIDE if of.is_futex else 0)


def _place(of: WaitObject) -> str:
    """Return where most threads waited for an object."""
    if not of.waiters:
        return f"{_what(of)} in unknown code"
    site = of.waiters[0]
    return f"{_what(of)} in {site.label}{libraries.via(site.stack[: site.wrappers])}"


def _what(of: WaitObject) -> str:
    return _DONE.get(of.kind) or f"{KINDS[of.kind]} waited for"
