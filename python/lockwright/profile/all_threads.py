"""The account and the waits of all processes of a run that were recorded."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from lockwright.profile import sampled_waits, spinning
from lockwright.profile.accounts import account_of, program_name, program_of, role_of, total
from lockwright.profile.buffer import Buffer
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import (
    Account,
    Holder,
    ProcessUse,
    Role,
    Times,
    WaitObject,
    WaitSite,
)
from lockwright.profile.waits import wait_objects
from lockwright.profile.watch import Samples

_SITES = 16
"""Limit on the sites of waiters and of wakers of an object: those with most waiting."""


@dataclass(frozen=True)
class AllThreads:
    """As in a Profile; the waits and roles of one name are merged over the processes. objects: of
    the profiled process, by their numbers."""

    account: Account
    waits: tuple[WaitObject, ...]
    processes: tuple[ProcessUse, ...]
    objects: Mapping[int, WaitObject]


def of_processes(
    processes: Sequence[tuple[Buffer, Symbols, Samples]], sampled: Sequence[SampledProcess] = ()
) -> AllThreads:
    """Return what the threads of processes did, of which the profiled one is the first. Roles and
    objects of another program than that one's have its name in front of theirs. sampled: from
    outside, these and others."""
    uses, roles, waits = [], [], []
    of_first: Mapping[int, WaitObject] = {}
    beside = {each.pid: each for each in sampled}
    first = program_of(processes[0][0])
    for buffer, symbols, samples in processes:
        if not buffer.is_claimed:
            continue
        program = program_of(buffer)
        prefix = "" if program == first else f"{program}: "
        objects = wait_objects(
            buffer, symbols, buffer.nanoseconds, samples.last_ns, python=samples.python
        )
        if buffer is processes[0][0]:
            of_first = {number: parts[0] for number, parts in objects.items()}
        account = account_of(buffer, symbols, samples, objects)
        found = [each for parts in objects.values() for each in parts]
        if (outside := beside.pop(buffer.pid, None)) is not None and outside.words:
            more = sampled_waits.waits_of(
                outside, sampled_waits.symbols_of(outside), of_roles=symbols
            )
            account, listed = sampled_waits.with_waits(account, more)
            # A thread that was there before its process was recorded is only known from samples.
            names = {(each.name, each.kind) for each in found}
            found += [each for each in listed if (each.name, each.kind) not in names]
        account, loops = spinning.with_spins(
            account,
            samples.spins,
            partial(role_of, program=program_name(buffer, samples), symbols=symbols),
            symbols,
        )
        found += loops
        lost = buffer.waited * buffer.nanoseconds
        uses.append(ProcessUse(buffer.pid, program, lost, account.all))
        roles += [replace(role, name=prefix + role.name) for role in account.roles]
        waits += [replace(each, name=prefix + each.name) for each in found]
    for outside in sampled_waits.known_from_samples(beside.values(), ()):
        program = PurePath(outside.program).name
        first = first or program
        prefix = "" if program == first else f"{program}: "
        symbols = sampled_waits.symbols_of(outside)
        more = sampled_waits.waits_of(outside, symbols)
        account, listed = sampled_waits.account_of(outside, symbols, more)
        uses.append(ProcessUse(outside.pid, program, 0.0, account.all, is_sampled=True))
        roles += [replace(role, name=prefix + role.name) for role in account.roles]
        waits += [replace(each, name=prefix + each.name) for each in listed]
    merged = _merged_roles(roles)
    return AllThreads(
        account=Account(total([use.times for use in uses]), merged),
        waits=merged_waits(waits),
        processes=tuple(sorted(uses, key=lambda use: -use.times.lived)),
        objects=of_first,
    )


def _merged_roles(roles: Iterable[Role]) -> tuple[Role, ...]:
    by_name: defaultdict[str, list[Times]] = defaultdict(list)
    for role in roles:
        by_name[role.name].append(role.times)
    merged = [Role(name, total(times)) for name, times in by_name.items()]
    return tuple(sorted(merged, key=lambda role: -role.times.lived))


def merged_waits(waits: Iterable[WaitObject]) -> tuple[WaitObject, ...]:
    """Return the objects with most waiting first, those of one name and kind as one."""
    by_name: defaultdict[tuple[str, str, str], list[WaitObject]] = defaultdict(list)
    for each in waits:
        by_name[each.name, each.kind, each.library].append(each)
    merged = [_merged(each) for each in by_name.values()]
    return tuple(sorted(merged, key=lambda each: -each.waited))


def _merged(objects: list[WaitObject]) -> WaitObject:
    if len(objects) == 1:
        return objects[0]
    return replace(
        objects[0],
        address=0,
        waits=sum(each.waits for each in objects),
        waited=sum(each.waited for each in objects),
        given_up=sum(each.given_up for each in objects),
        resumed=sum(each.resumed for each in objects),
        samples=sum(each.samples for each in objects),
        holders=_merged_holders(objects),
        resuming=sum(each.resuming for each in objects),
        waiters=_merged_sites(site for each in objects for site in each.waiters),
        wakers=_merged_sites(site for each in objects for site in each.wakers),
    )


def _merged_holders(objects: Iterable[WaitObject]) -> tuple[Holder, ...]:
    samples = Counter[Holder]()
    for each in objects:
        for holder in each.holders:
            samples[replace(holder, samples=0)] += holder.samples
    return tuple(replace(holder, samples=n) for holder, n in samples.most_common())


def _merged_sites(sites: Iterable[WaitSite]) -> tuple[WaitSite, ...]:
    by_label: dict[str, WaitSite] = {}
    for site in sites:
        known = by_label.setdefault(site.label, replace(site, times=0, waited=0.0))
        by_label[site.label] = replace(
            known, times=known.times + site.times, waited=known.waited + site.waited
        )
    return tuple(sorted(by_label.values(), key=lambda site: -site.waited)[:_SITES])
