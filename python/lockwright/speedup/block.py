"""The block of a buffer through which experiments are made: `experiments` in
src/probe/profile_buffer.hpp."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lockwright.base import clock
from lockwright.preload.layouts import layouts
from lockwright.profile.buffer import constant
from lockwright.speedup.windows import NO_WAITS, READERS

CHOSEN, METERED = "is_chosen", "is_metered"
"""Flags of records: their sections are shortened; their acquisitions are the progress."""

_CONSTANTS = {NO_WAITS: "experiments::no_waits", READERS: "experiments::readers_together"}


class State(NamedTuple):
    """The sums at a time of the monotonic clock, in ns. owed: ticks by which each thread has been
    delayed or forgiven since the start, or will be."""

    ns: int
    owed: int
    progress: int


def most_readers() -> int:
    """Return the limit on the callers whose sections only read."""
    return constant("experiments::reader_numbers")


class Block:
    """The experiments of a process; writes to its buffer."""

    def __init__(self, path: Path) -> None:
        """Map the file of a buffer."""
        kind = layouts().dtype("profile_buffer")
        with path.open("r+b") as file:
            mapped = np.frombuffer(mmap.mmap(file.fileno(), kind.itemsize), kind, 1)
        self._records, self._block = mapped["records"][0], mapped["running"]
        self._objects = mapped["objects"][0]["is_chosen"]
        self._parked = mapped["threads"][0]["is_parked"]
        self._kinds = self._records["kind"]
        self._flagged: dict[str, list[int]] = {}
        self._is_new = True

    def note_crowded(self) -> None:
        """Note that the program has more threads than processors."""
        self._block["is_crowded"][0] = 1

    def choose(
        self,
        chosen: Sequence[int],
        metered: Sequence[int],
        objects: Sequence[int] = (),
        readers: Sequence[int] = (),
    ) -> None:
        """Set the records whose sections are shortened, and those whose acquisitions are the
        progress, instead of those before. objects: the numbers of others that are waited for;
        readers: the callers whose sections only read, most_readers() of them."""
        self._block["readers"][0] = [*readers, *[0] * (most_readers() - len(readers))]
        self._objects[:] = 0
        self._objects[list(objects)] = 1
        flags = {CHOSEN: list(chosen), METERED: list(metered)}
        for flag, records in flags.items():
            bit = constant(f"record::{flag}")
            self._kinds[self._flagged.get(flag, [])] &= ~np.uint32(bit)
            self._kinds[records] |= bit
        self._is_new |= flags != self._flagged
        self._flagged = flags

    def alike(self, records: Sequence[int]) -> list[int]:
        """Return records with all others whose mutexes were created, or else first taken, at the
        same places."""
        created, taken = self._records["init_site"], self._records["first_site"]
        own_created, own_taken = created[list(records)], taken[list(records)]
        is_created = (created != 0) & np.isin(created, own_created)
        is_taken = (created == 0) & np.isin(taken, own_taken[own_created == 0])
        is_used = self._records["address"] != 0
        found = np.flatnonzero((is_created | is_taken) & is_used).tolist()
        return sorted({*records, *found})

    def begin(self, share: int, most: float) -> None:
        """Shorten sections that begin from now on by `share` per cent, or with NO_WAITS or READERS
        leave out waits that end from now on. Debts from before are forgiven, unless they are of the
        same share and lock. most: ticks that may be owed, also if nobody calls end()."""
        share = constant(_CONSTANTS[share]) if share in _CONSTANTS else share
        owed = self.state().owed
        self._block["limit"][0] = owed + int(most)
        if self._is_new or self._block["share"][0] != share:
            self._block["share"][0] = share
            self._block["floor"][0] = owed
            self._block["window"][0] += 1
            self._is_new = False

    def park(self, slots: Sequence[int], until: int) -> None:
        """Let the threads of some slots wait, and no others. until: ticks at which they go on, also
        if nobody calls end()."""
        self._block["parked_until"][0] = until
        self._parked[:] = 0
        self._parked[list(slots)] = 1

    def end(self) -> None:
        """Shorten no sections, and park no threads."""
        self.park([], 0)
        self._block["share"][0] = self._block["limit"][0] = 0

    def state(self) -> State:
        """Return the present sums."""
        ns = clock.monotonic_ns()
        return State(ns, int(self._block["owed"][0]), int(self._block["progress"][0]))
