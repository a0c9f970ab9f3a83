"""Sampled waits as objects of a profile, and as parts of its account."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lockwright.profile.accounts import role_of, total
from lockwright.profile.frames import Frame
from lockwright.profile.outside.process import SampledProcess, WordSamples
from lockwright.profile.sampled_names import c_name, is_of_libraries, is_own, named, wrapper_count
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import (
    Account,
    Holder,
    Role,
    Times,
    WaitKind,
    WaitObject,
    WaitSite,
)

_SITES = 16
"""Limit on the sites of an object: those with most waiting."""


@dataclass(frozen=True)
class SampledWait:
    """An object for which threads waited in samples. by_role: ns waited, by the names of the
    threads' roles; is_listed: whether the profile does not have it elsewhere."""

    object: WaitObject
    by_role: Mapping[str, float]
    is_listed: bool


def symbols_of(process: SampledProcess) -> Symbols:
    """Return the symbols of a process, which may have ended."""
    return Symbols([mapping for mapping, _ in process.memory.mappings], process.program)


def waits_of(
    process: SampledProcess,
    symbols: Symbols,
    without: Collection[int] = (),
    of_roles: Symbols | None = None,
    only: Collection[int] | None = None,
) -> list[SampledWait]:
    """Return the waits of a process. of_roles: the symbols that name roles elsewhere; without: the
    addresses of objects that the profile has elsewhere; only: those of some objects."""
    found = []
    for address, word in process.words.items():
        if only is not None and address not in only:
            continue
        stacks = sorted(word.sites, key=lambda pcs: -word.sites[pcs].waited)[:_SITES]
        frames = {pcs: _frames(pcs, process.memory.calls, symbols) for pcs in stacks}
        lines = symbols.with_lines({frame for of_stack in frames.values() for frame in of_stack})
        sites = [
            _site(word, pcs, [part for frame in frames[pcs] for part in lines[frame]])
            for pcs in stacks
        ]
        what = named(word, address, sites[0].stack, symbols)
        by_role: defaultdict[str, float] = defaultdict(float)
        for thread, ns in word.by_thread.items():
            by_role[role_of(thread.kind, process.name, of_roles or symbols)] += ns
        waited = WaitObject(
            kind=what.kind,
            name=what.name,
            library=what.library,
            address=address,
            waits=max(1, sum(site.sleeps for site in word.sites.values())),
            waited=float(sum(site.waited for site in word.sites.values())),
            is_futex=True,
            samples=word.samples,
            waiters=tuple(sites),
            holders=tuple(
                Holder(tid, process.names.get(tid, ""), doing, count)
                for (tid, doing), count in word.holders.most_common()
            ),
        )
        found.append(SampledWait(waited, by_role, address not in without))
    return found


def _frames(pcs: Sequence[int], calls: Mapping[int, int], symbols: Symbols) -> list[Frame]:
    """Return the frames of a stack without those left from earlier calls: each of the others calls
    the function of the one before it. If that leaves none of the program, one may also call a
    function of the same library, or the profiler's, which jumped to that one. calls: as in
    MappedMemory."""
    frames = [symbols.caller(pc) for pc in pcs]
    called = [symbols.place(at) if (at := calls.get(pc, 0)) else None for pc in pcs]
    exact = _linked(frames, called, symbols, may_jump=False)
    if not all(map(is_of_libraries, exact)):
        return exact
    jumped = _linked(frames, called, symbols, may_jump=True)
    return exact if all(map(is_of_libraries, jumped)) else jumped


def _linked(
    frames: Sequence[Frame], called: Sequence[Frame | None], symbols: Symbols, *, may_jump: bool
) -> list[Frame]:
    """Return the frames of which each calls the one before it, with the function that jumped to
    that. called: the functions that the frames call; None is no library's."""
    found = [*frames[:1]]
    for frame, to in zip(frames[1:], called[1:], strict=True):
        by = found[-1]
        is_of_library = is_of_libraries(by)
        if to is None:
            is_linked = not is_of_library
        else:
            is_linked = symbols.function(to) == symbols.function(by) or (
                # The profiler's function of that name jumped to the C library's.
                bool(to.symbol) and c_name(to) == c_name(by)
            )
        if is_linked:
            found.append(frame)
        elif (
            may_jump
            and to is not None
            and (to.module == by.module or is_own(to))
            and is_of_library
            and is_of_libraries(to)
            and not is_of_libraries(frame)
        ):
            found += [to, frame]
    return found


def _site(word: WordSamples, pcs: tuple[int, ...], stack: list[Frame]) -> WaitSite:
    samples = word.sites[pcs]
    return WaitSite(tuple(stack), samples.sleeps, float(samples.waited), wrapper_count(stack))


def account_of(
    process: SampledProcess, symbols: Symbols, waits: Sequence[SampledWait]
) -> tuple[Account, list[WaitObject]]:
    """Return the account of a process of which nothing but samples is known, of the threads that
    were there at any, and the objects, as with_waits()."""
    by_role: defaultdict[str, list[Times]] = defaultdict(list)
    for thread in (*process.ended, *process.threads.values()):
        ran = thread.last.ran - thread.before.ran
        ready = thread.last.ready - thread.before.ready
        lived = max(thread.seen_ns - thread.begin_ns, ran + ready)
        by_role[role_of(thread.kind, process.name, symbols)].append(
            Times(
                threads=1,
                lived=lived / 1e9,
                running=ran / 1e9,
                runnable=ready / 1e9,
                sleeping=(lived - ran - ready) / 1e9,
            )
        )
    roles = [Role(name, total(times)) for name, times in by_role.items()]
    roles.sort(key=lambda role: -role.times.lived)
    return with_waits(Account(total([role.times for role in roles]), tuple(roles)), waits)


def with_waits(account: Account, waits: Sequence[SampledWait]) -> tuple[Account, list[WaitObject]]:
    """Return an account in which these waits are no longer part of the sleep, and the objects to
    list. The kernel's sums tell how long threads slept: on busy processors, a sample finds more
    asleep than there were before, since it has to wait for a processor too."""
    sampled: defaultdict[str, float] = defaultdict(float)
    for wait in waits:
        for role, ns in wait.by_role.items():
            sampled[role] += ns / 1e9
    scales = {
        role.name: min(1.0, role.times.sleeping / sampled[role.name])
        for role in account.roles
        if sampled[role.name]
    }
    by_role: defaultdict[str, defaultdict[WaitKind, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    objects = []
    for wait in waits:
        scaled = {role: ns * scales.get(role, 0.0) for role, ns in wait.by_role.items()}
        for role, ns in scaled.items():
            kind, of_role = wait.object.kind, by_role[role]
            of_role[kind] = of_role.get(kind, 0.0) + ns / 1e9
        if wait.is_listed:
            objects.append(_scaled(wait.object, sum(scaled.values())))
    roles = tuple(
        Role(each.name, with_more(each.times, by_role[each.name])) for each in account.roles
    )
    every = total([Times(waiting=dict(each)) for each in by_role.values()])
    return Account(with_more(account.all, every.waiting), roles), objects


def _scaled(of: WaitObject, waited: float) -> WaitObject:
    """Return an object with another time."""
    scale = waited / of.waited if of.waited else 1.0
    sites = (replace(each, waited=each.waited * scale) for each in of.waiters)
    return replace(of, waited=waited, waiters=tuple(sites))


def with_more(
    times: Times, more: Mapping[WaitKind, float], of: Literal["sleeping", "running"] = "sleeping"
) -> Times:
    """Return times of which these seconds, by the kind of waiting, are no longer part of another
    one."""
    waiting = {kind: times.waiting.get(kind, 0.0) for kind in (*times.waiting, *more)}
    for kind, seconds in more.items():
        waiting[kind] += seconds
    ordered = sorted(waiting.items(), key=lambda item: -item[1])
    left = max(0.0, getattr(times, of) - sum(more.values()))
    return replace(times, waiting={k: s for k, s in ordered if s}, **{of: left})


def _is_worth_naming(process: SampledProcess) -> bool:
    """Return whether a process without the profiler's library has its part in a profile: not, as
    a shell, one whose only thread waits for others."""
    return process.threads_most > 1 or bool(process.words)


def known_from_samples(
    processes: Iterable[SampledProcess], recorded: Collection[int]
) -> list[SampledProcess]:
    """Return the processes of which nothing but samples is known. recorded: the others' numbers."""
    return [each for each in processes if each.pid not in recorded and _is_worth_naming(each)]
