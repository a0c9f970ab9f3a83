"""The call sites of a mutex, and the blocking between them, from the details of a buffer."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from lockwright.profile.buffer import Buffer, total_of
from lockwright.profile.frames import Frame
from lockwright.profile.record import Block, Site
from lockwright.profile.symbols import Symbols

_STACKS = 8
"""Limit on the stacks of one caller: those with most waiting and holding."""


@dataclass(frozen=True)
class Waits:
    """All waits of a mutex, of which only some were sampled. contended: their number; waited:
    ticks."""

    contended: int
    waited: int


class Sites:
    """The sites of all mutexes, by the index of the mutex."""

    def __init__(self, buffer: Buffer, symbols: Symbols, nanoseconds: float) -> None:
        """Sort the walked stacks. nanoseconds: of a tick."""
        self._buffer, self._symbols, self._nanoseconds = buffer, symbols, nanoseconds
        self._numbers: dict[tuple[int, int], int] = {}
        self._callers: dict[int, list[int]] = {}
        self._releases: defaultdict[int, dict[int, Frame]] = defaultdict(dict)
        self._stacks = self._stacks_by_caller()

    def number(self, index: int, caller: int) -> int:
        """Return the index of a caller's first stack among a mutex's sites; -1 if it has none."""
        return self._numbers.get((index, caller), -1)

    def callers(self, index: int) -> list[int]:
        """Return the caller of each of a mutex's sites."""
        return self._callers[index]

    def releases(self, index: int) -> dict[int, Frame]:
        """Return the frames that released the acquisitions of sites, by the index of the site."""
        return self._releases[index]

    def sites_and_blocks(
        self, index: int, group: list[int], details: NDArray[Any], waits: Waits
    ) -> tuple[tuple[Site, ...], tuple[Block, ...]]:
        """Return the sites of a mutex, and the waits at one for holds of another. group: the
        records of the mutex; waits: the total, which is distributed over the sites in proportion to
        the samples."""
        callers, pairs, releasers = _summed(details)
        if not callers:
            self._add_only_caller(group, callers)
        contended_scale = _scale(waits.contended, sum(sums[1] for sums in callers.values()))
        unit = self._nanoseconds
        waited_scale = unit * _scale(waits.waited, sum(sums[2] for sums in callers.values()))
        sites: list[Site] = []
        callers_of_sites: list[int] = []
        for caller, (acquisitions, contended, waited, held) in sorted(
            callers.items(), key=lambda item: (-item[1][2], -item[1][0])
        ):
            self._numbers[index, caller] = len(sites)
            for stack, of_waits, of_holds in self._shares(group, caller):
                if caller in releasers:
                    released = self._symbols.caller(releasers[caller])
                    self._releases[index][len(sites)] = released
                callers_of_sites.append(caller)
                sites.append(
                    Site(
                        stack=stack,
                        acquisitions=acquisitions * of_holds,
                        contended=round(contended * of_waits * contended_scale),
                        waited=waited * of_waits * waited_scale,
                        held=held * of_holds * unit,
                    )
                )
        self._callers[index] = callers_of_sites
        blocks = tuple(
            Block(
                holder=self.number(index, holder),
                waiter=self.number(index, waiter),
                times=round(times * contended_scale),
                waited=waited * waited_scale,
            )
            for (holder, waiter), (times, waited) in sorted(pairs.items(), key=lambda p: -p[1][1])
            if (index, waiter) in self._numbers
        )
        return tuple(sites), blocks

    def _add_only_caller(self, group: list[int], callers: dict[int, list[int]]) -> None:
        """Add the only known caller of a mutex without details."""
        records = self._buffer.records
        first = int(records["first_site"][group[0]])
        if first:
            acquisitions = int(records["acquisitions"][group].sum())
            callers[first] = [acquisitions, 0, 0, total_of(records["held"][group])]

    def _stacks_by_caller(self) -> dict[tuple[int, int], list[Any]]:
        by_caller: defaultdict[tuple[int, int], list[Any]] = defaultdict(list)
        for stack in self._buffer.stacks:
            by_caller[int(stack["record"]), int(stack["pcs"][0])].append(stack)
        return by_caller

    def _shares(
        self, group: list[int], caller: int
    ) -> list[tuple[tuple[Frame, ...], float, float]]:
        """Return the stacks of a caller with their shares of its waiting and its holding, the
        largest first. The walked stacks represent all."""
        walked: dict[tuple[int, ...], list[float]] = {}
        for number in group:
            for stack in self._stacks.get((number, caller), ()):
                pcs = tuple(int(pc) for pc in stack["pcs"][: int(stack["frames"])])
                sums = walked.setdefault(pcs, [0.0, 0.0])
                sums[0] += total_of(stack["waited"])
                sums[1] += total_of(stack["held"])
        if not walked:
            return [((self._symbols.caller(caller),), 1.0, 1.0)]
        largest = sorted(walked.items(), key=lambda item: -sum(item[1]))[:_STACKS]
        waited, held = (sum(sums[i] for _, sums in largest) for i in (0, 1))
        return [
            (
                tuple(self._symbols.caller(pc) for pc in pcs),
                of_waits / waited if waited else float(i == 0),
                of_holds / held if held else float(i == 0),
            )
            for i, (pcs, (of_waits, of_holds)) in enumerate(largest)
        ]


def _scale(total: int, part: int) -> float:
    return total / part if part else 1.0


def _summed(
    details: NDArray[Any],
) -> tuple[dict[int, list[int]], dict[tuple[int, int], list[int]], dict[int, int]]:
    """Return, by caller: acquisitions, contended ones, time waited and held; by pair of callers:
    number and time of the waits of one for the other; by caller: the last releasing function."""
    callers: dict[int, list[int]] = {}
    pairs: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    releasers: dict[int, int] = {}
    for detail in details:
        callers_of_detail = [int(caller) for caller in detail["sites"]["caller"]]
        for site in detail["sites"]:
            if site["caller"]:
                sums = callers.setdefault(int(site["caller"]), [0, 0, 0, 0])
                for i, name in enumerate(("acquisitions", "contended", "waited", "held")):
                    sums[i] += total_of(site[name])
                if site["releaser"]:
                    releasers[int(site["caller"])] = int(site["releaser"])
        for block in detail["wait_edges"]:
            if block["times"]:
                pair = pairs[
                    callers_of_detail[int(block["holder"]) - 1] if block["holder"] else 0,
                    callers_of_detail[int(block["waiter"]) - 1] if block["waiter"] else 0,
                ]
                pair[0] += int(block["times"])
                pair[1] += total_of(block["waited"])
    return callers, pairs, releasers
