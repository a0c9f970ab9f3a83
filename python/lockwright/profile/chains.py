"""The sampled chains of waits, with the names of objects, roles and functions."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from lockwright.profile import libraries
from lockwright.profile.accounts import role_of
from lockwright.profile.buffer import Buffer, has
from lockwright.profile.chain import Chain, Link
from lockwright.profile.chain_samples import ChainSums
from lockwright.profile.symbols import Symbols
from lockwright.profile.thread_states import ThreadKind
from lockwright.profile.wait_graph import SampledChain
from lockwright.profile.waiting import KINDS, WaitObject
from lockwright.profile.waits import KIND_NAMES, with_inlined
from lockwright.profile.watch import Samples

_MOST = 64
"""Limit on the chains of a profile: those with most waiting."""


class ChainNames:
    """The names of what the chains of a process contain."""

    def __init__(
        self,
        buffer: Buffer,
        symbols: Symbols,
        program: str,
        locks: Mapping[int, str],
        objects: Mapping[int, WaitObject],
        lock_site: Callable[[int, int], str],
    ) -> None:
        """program: the name of the first thread; locks: the names by the numbers of records;
        objects: by their numbers; lock_site: the label of a caller that locked the mutex of a
        record."""
        self._buffer, self._symbols, self._program = buffer, symbols, program
        self._locks, self._objects, self._lock_site = locks, objects, lock_site

    def link(self, number: int) -> Link:
        """Return an object by its number in a chain."""
        index = number - self._buffer.first_object
        if index < 0:
            is_rwlock = bool(has(self._buffer.records[number], "of_readers", "of_writers"))
            return Link("rwlock" if is_rwlock else "mutex", self._locks.get(number, "unknown lock"))
        if (known := self._objects.get(index)) is not None:
            return Link(known.kind, known.name)
        kind = KIND_NAMES[self._buffer.kind_of_object(index) - 1]
        return Link(kind, f"unknown {KINDS[kind]}")

    def role(self, thread: ThreadKind | None) -> str:
        """Return the role of the last thread."""
        return role_of(thread, self._program, self._symbols) if thread is not None else ""

    def site(self, chain: SampledChain) -> str:
        """Return the function by which the last thread of a chain holds the last object, or ends
        waits for it; "" if unknown."""
        index = chain.path[-1] - self._buffer.first_object
        if chain.state in ("handover", "unknown"):
            return ""
        if index < 0:
            return self._lock_site(chain.path[-1], chain.site) if chain.site else ""
        known = self._objects.get(index)
        wakers = known.wakers if known is not None else ()
        if not chain.site:
            return wakers[0].label if wakers else ""
        stack = with_inlined((chain.site,), self._symbols)
        for waker in wakers:
            if waker.stack[: len(stack)] == stack:
                return waker.label
        return stack[libraries.wrapper_count(stack)].short_label


def chains_of(samples: Samples, names: ChainNames) -> tuple[Chain, ...]:
    """Return the chains of a process's waits, those with most waiting first."""
    total = sum(sums.seconds for sums in samples.chains.values())
    merged: dict[Chain, ChainSums] = {}
    for chain, sums in samples.chains.items():
        named = Chain(
            share=0,
            waited=0,
            samples=0,
            path=tuple(names.link(number) for number in chain.path),
            role=names.role(chain.thread),
            site=names.site(chain),
            state=chain.state,
            call=chain.call,
        )
        merged.setdefault(named, ChainSums()).add(sums)
    found = [
        replace(
            chain,
            share=min(1.0, sums.seconds / total),
            waited=sums.seconds * 1e9,
            samples=sums.samples,
        )
        for chain, sums in merged.items()
    ]
    return tuple(sorted(found, key=lambda chain: -chain.waited)[:_MOST])
