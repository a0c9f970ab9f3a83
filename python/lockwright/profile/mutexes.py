"""The mutexes and reader-writer locks of a profile, from the records of a buffer."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import (
    HOLD,
    WAIT,
    Buffer,
    has,
    init_site,
    since_sample,
    total_of,
)
from lockwright.profile.distributions import distribution
from lockwright.profile.mutex_lines import name_of, with_lines
from lockwright.profile.mutex_users import frequent_users, numbers_of, user_count
from lockwright.profile.open_intervals import as_details, open_intervals
from lockwright.profile.record import CREATED, FIRST_TAKEN, OBJECT, TYPES, Mutex, Place, RwLock
from lockwright.profile.sites import Sites, Waits
from lockwright.profile.symbols import Symbols
from lockwright.profile.watch import Samples

_MOST_SEPARATE = 32
"""Limit on the mutexes of one place that are listed separately: those that cost most."""

_ENOUGH_SAMPLES = 16
"""Number of samples from which a mutex is listed separately from others of its place."""

READERS, WRITERS = "readers", "writers"
"""The sides of a reader-writer lock."""

_SIDES = ("of_readers", "of_writers")
"""Their flags."""

_FIRST_RWLOCK = 1 << 20
"""Index from which the sides of reader-writer locks are numbered; more than there are mutexes."""

_SUMS = (
    "acquisitions",
    "samples",
    "tried",
    "holds",
    "held",
    "hold_samples",
    "contended",
    "given_up",
    "waits",
    "waited",
    "hand_overs",
    "handed_over",
    "owner_changes",
    "usage_samples",
    "usage_preempted",
    "usage_held",
    "usage_slept",
    "failed_trylocks",
    "cond_signals",
    "cond_waits",
    "futile_wakeups",
)


class Mutexes:
    """The observed mutexes, in descending order of the time lost."""

    def __init__(
        self,
        buffer: Buffer,
        symbols: Symbols,
        samples: Samples,
        nanoseconds: float,
        duration: float,
    ) -> None:
        """Read the counts. nanoseconds: of a tick; duration: of the profile, in ns."""
        self._buffer, self._symbols, self._samples = buffer, symbols, samples
        self._nanoseconds, self._duration = nanoseconds, duration
        self._index: dict[int, int] = {}
        self._sites = Sites(buffer, symbols, nanoseconds)
        threads = buffer.threads
        self._failures = self._thread_counts(threads["failing"], threads["failures"])
        self._passed_over = np.zeros(len(buffer.records), np.int64)
        for each in (threads, threads["reads"], threads["writes"]):
            self._passed_over += self._thread_counts(each["last_record"], since_sample(each))
        self._taken = self._acquisitions()
        self._contended = self._thread_counts(threads["waited_for"], threads["waits"])
        self._contended += buffer.records["contended"].astype(np.int64)
        self._waited = self._thread_counts(threads["waited_for"], threads["waited"])
        self._waited += buffer.records["waited"].astype(np.int64)
        self.unfinished = open_intervals(buffer, samples.last_ns)
        for interval in self.unfinished:
            if interval.kind == WAIT:
                self._contended[interval.record] += 1
                self._waited[interval.record] += interval.ticks
        self._frequent_users = frequent_users(buffer)

    def index_of(self, record: int) -> int | None:
        """Return the index of the mutex that a record is part of, or None."""
        return self._index.get(record)

    def records_of(self, index: int) -> list[int]:
        """Return the records that are part of the mutex with an index."""
        return [record for record, number in self._index.items() if number == index]

    def records_of_rwlock(self, index: int) -> list[int]:
        """Return the records that are part of the reader-writer lock with an index."""
        return [first + side for first in self._rwlock_groups()[index] for side in (0, 1)]

    def _rwlock_groups(self) -> list[list[int]]:
        return self._groups(has(self._buffer.records, "of_writers"), 2)

    def site_of(self, record: int, caller: int) -> int:
        """Return the index of a caller among a mutex's sites, or -1."""
        return self._sites.number(self._index.get(record, -1), caller)

    def callers_of(self, index: int) -> list[int]:
        """Return the caller of each site of the mutex with an index."""
        return self._sites.callers(index)

    def names(
        self, mutexes: Sequence[Mutex] | None = None, rwlocks: Sequence[RwLock] | None = None
    ) -> dict[int, str]:
        """Return the name of each record's mutex, or of its reader-writer lock with the side.
        mutexes, rwlocks: all of them, if they are known already."""
        mutexes = self.all_mutexes() if mutexes is None else mutexes
        rwlocks = self.all_rwlocks() if rwlocks is None else rwlocks
        names = {record: mutexes[index].name for record, index in self._index.items()}
        groups = self._rwlock_groups()
        for rwlock, group in zip(rwlocks, groups, strict=True):
            for record in group:
                names[record] = f"{rwlock.name} ({WRITERS})"
                names[record + 1] = f"{rwlock.name} ({READERS})"
        return names

    def all_rwlocks(self) -> list[RwLock]:
        """Return all reader-writer locks in descending order of the time lost."""
        groups = self._rwlock_groups()
        sides: list[list[Mutex]] = []
        for which, kind in enumerate((WRITERS, READERS)):
            first = _FIRST_RWLOCK + which * len(groups)
            of_side = [
                replace(self._mutex(first + i, [number + which for number in group]), type=kind)
                for i, group in enumerate(groups)
            ]
            releases = [self._sites.releases(first + i) for i in range(len(of_side))]
            sides.append(with_lines(of_side, self._symbols, releases.__getitem__))
        rwlocks = []
        for writers, readers in zip(*sides, strict=True):
            # The first caller is a site of one side only, which has the stack.
            named = max(writers, readers, key=lambda side: len(side.place.stack))
            rwlocks.append(
                RwLock(
                    name=named.name,
                    place=named.place,
                    address=named.address,
                    instances=named.instances,
                    threads=len({*writers.users, *readers.users}),
                    readers=readers,
                    writers=writers,
                )
            )
        return rwlocks

    def all_mutexes(self) -> list[Mutex]:
        """Return all mutexes in descending order of the time lost."""
        groups = self._groups(~has(self._buffer.records, *_SIDES), 1)
        mutexes = []
        for index, group in enumerate(groups):
            for number in group:
                self._index[number] = index
            mutexes.append(self._mutex(index, group))
        return with_lines(mutexes, self._symbols, self._sites.releases)

    def _groups(self, chosen: NDArray[np.bool_], sides: int) -> list[list[int]]:
        """Return the chosen records of each mutex, or reader-writer lock, of the profile, in
        descending order of the time lost. sides: records of each lock, the chosen one first."""
        groups = self._groups_of_places(chosen, sides)
        records = self._buffer.records

        def rank(group: list[int]) -> tuple[int, int, int]:
            numbers = [number + side for number in group for side in range(sides)]
            taken = sum(int(records["acquisitions"][number]) for number in numbers)
            return -int(self._waited[numbers].sum()), -taken, group[0]

        return sorted(groups, key=rank)

    def _groups_of_places(self, chosen: NDArray[np.bool_], sides: int) -> list[list[int]]:
        records = self._buffer.records
        used = (records["samples"] != 0) | (records["waits"] != 0) | (records["cond_waits"] != 0)
        used |= (records["failed_trylocks"] + self._failures) != 0
        used |= self._contended != 0
        used[[interval.record for interval in self.unfinished]] = True
        for side in range(1, sides):
            used[:-side] |= used[side:]
        used &= chosen & ~has(records, "is_void")
        places: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        groups: list[list[int]] = []
        for number in np.flatnonzero(used):
            row = records[number]
            if has(row, "is_shared"):
                groups.append([int(number)])
                continue
            site = init_site(row)
            places[site, 0 if site else int(row["first_site"])].append(int(number))
        for numbers in places.values():
            numbers.sort(
                key=lambda number: (
                    -int(self._waited[number]),
                    -int(records["acquisitions"][number]),
                )
            )
            separate = self._separate_count(numbers)
            groups += [[number] for number in numbers[:separate]]
            if numbers[separate:]:
                groups.append(numbers[separate:])
        return groups

    def _separate_count(self, numbers: list[int]) -> int:
        """Return the number of mutexes of a place to list separately, the most costly first: of
        many only those with enough samples, which excludes short-lived ones on a thread's stack."""
        if len(numbers) <= 2 * _MOST_SEPARATE:
            return len(numbers)
        records = self._buffer.records
        samples = (
            records["samples"][numbers[:_MOST_SEPARATE]]
            + records["waits"][numbers[:_MOST_SEPARATE]]
        )
        few = np.flatnonzero(samples < _ENOUGH_SAMPLES)
        return int(few[0]) if len(few) else _MOST_SEPARATE

    def _mutex(self, index: int, group: list[int]) -> Mutex:
        records = self._buffer.records[group]
        first = records[0]
        sums = {name: total_of(records[name]) for name in _SUMS}
        sums["failed_trylocks"] += int(self._failures[group].sum())
        sums["acquisitions"] = int(self._taken[group].sum())
        details = self._buffer.details[[int(n) - 1 for n in records["detail"] if n]]
        members = set(group)
        unfinished = [interval for interval in self.unfinished if interval.record in members]
        waits = [interval for interval in unfinished if interval.kind == WAIT]
        holds = [interval for interval in unfinished if interval.kind == HOLD]
        sums["contended"] = int(self._contended[group].sum())
        sums["waited"] = total_of(self._waited[group])
        sums["waits"] += len(waits)
        sums["holds"] += len(holds)
        sums["hold_samples"] += len(holds)
        sums["held"] += sum(interval.ticks for interval in holds)
        details = np.concatenate([details, as_details(self._buffer, unfinished)])
        is_single = len(group) == 1 and not has(first, "is_shared")
        instances = self._instances(first, group, is_single)
        # The samples stand for other holds too, and a preempted one among few for too much.
        sums["held"] = min(sums["held"], int(instances * self._duration / self._nanoseconds))
        place = self._place(first, is_single)
        all_waits = Waits(sums["contended"], sums["waited"])
        sites, blocks = self._sites.sites_and_blocks(index, group, details, all_waits)
        unit = self._nanoseconds
        threads = np.bitwise_or.reduce(records["threads"], axis=0)
        for interval in waits:
            word, bit = divmod(interval.thread % (64 * len(threads)), 64)
            threads[word] |= np.uint64(1 << bit)
        sample_count = self._samples.count
        waiters = int(self._samples.waiters[group].sum())
        held = sample_count * sums["held"] * unit / self._duration if self._duration else 0.0
        samples_in_use = max(float(self._samples.waited[group].sum()), held, 1.0)
        arrivals = details["arrivals"].sum(axis=0) if len(details) else np.zeros(0, np.uint64)
        arrival_count = int(np.flatnonzero(arrivals)[-1]) + 1 if arrivals.any() else 0
        return Mutex(
            name=name_of(place, is_single),
            place=place,
            address=int(first["address"]) if is_single else 0,
            type=TYPES[int(first["kind"]) & 3],
            acquisitions=float(
                max(sums["acquisitions"], sums["contended"] - sums["given_up"] - len(waits))
            ),
            contended=sums["contended"],
            waiting=distribution(
                sums["contended"], sums["waited"], sums["waits"], _sum(details, "waiting"), unit
            ),
            holding=distribution(
                sums["holds"], sums["held"], sums["hold_samples"], _sum(details, "holding"), unit
            ),
            hand_over=distribution(
                sums["hand_overs"],
                sums["handed_over"],
                sums["hand_overs"],
                _sum(details, "handing_over"),
                unit,
            ),
            arrivals=tuple(int(count) for count in arrivals[:arrival_count]),
            waiters_mean=waiters / samples_in_use,
            waiters_most=int(self._samples.most[group].max(initial=0)),
            sampled_times=sample_count,
            instances=instances,
            trylocks=float(sums["tried"] + sums["failed_trylocks"]),
            failed_trylocks=sums["failed_trylocks"],
            cond_waits=sums["cond_waits"],
            cond_signals=sums["cond_signals"],
            futile_wakeups=sums["futile_wakeups"],
            threads=user_count(threads, self._frequent_users),
            owner_changes=_share(sums["owner_changes"], sums["samples"]),
            preempted_holds=_share(sums["usage_preempted"], sums["usage_samples"]),
            slept=_share(sums["usage_slept"], sums["usage_held"]),
            sites=sites,
            blocks=blocks,
            users=numbers_of(threads),
        )

    def _acquisitions(self) -> NDArray[np.int64]:
        """Return the acquisitions of each record: those that its mutex had counted when a thread
        last looked, and a share of those since then; estimated from the samples if unknown."""
        records = self._buffer.records
        taken = records["acquisitions"].astype(np.int64) + self._passed_over
        counted = records["counted"].astype(np.int64)
        of_mutexes = ~has(records, "is_void", *_SIDES)
        known = (counted != 0) & of_mutexes & ~has(records, "is_shared")
        known &= taken < 1 << 31  # a count begins again at 1 << 32
        if not known.any():
            return taken
        others = ~known & of_mutexes
        left = max(0, int(self._buffer.taken) - int(counted[known].sum() + taken[others].sum()))
        looks = np.maximum((records["samples"] + records["contended"]).astype(np.int64), 1)
        # The mean number of acquisitions between two looks; none after the end of a mutex, and of a
        # rare one not more than its share in all acquisitions.
        gaps = np.where(known & (records["destroyed"] == 0), np.maximum(counted / looks - 1, 0), 0)
        gaps = np.minimum(gaps, left * counted / counted[known].sum())
        if not gaps.any():
            gaps = known.astype(np.float64)
        shares = np.floor(left * gaps / gaps.sum()).astype(np.int64)
        shares[np.argmax(gaps)] += left - int(shares.sum())
        return np.where(known, counted + shares, taken)

    def _place(self, record: Any, is_single: bool) -> Place:
        address = int(record["address"])
        if address and self._symbols.mapping(address) is not None:
            if is_single:
                return Place(OBJECT, self._symbols.place(address))
        elif site := init_site(record):
            caller = int(self._buffer.init_sites["caller"][site - 1])
            ordinal = int(record["ordinal"]) if is_single else -1
            stack = tuple(self._symbols.caller(pc) for pc in self._buffer.init_stack(record))
            return Place(CREATED, self._symbols.caller(caller), ordinal, stack if is_single else ())
        frame = self._symbols.caller(int(record["first_site"]))
        return Place(FIRST_TAKEN, frame, self._order(record) if is_single else -1)

    def _order(self, record: Any) -> int:
        """Return the ordinal of a mutex among those first taken at its place."""
        records = self._buffer.records
        earlier = (
            (records["first_site"] == record["first_site"])
            & (records["kind"] == record["kind"])
            & (records["init_site"] == 0)
            & (records["first_seen"] < record["first_seen"])
            & (records["address"] != 0)
        )
        return int(earlier.sum())

    def _instances(self, first: Any, group: list[int], is_single: bool) -> int:
        if is_single:
            return 1
        if site := init_site(first):
            # Most of them have no record.
            return max(len(group), int(self._buffer.init_sites["created"][site - 1]))
        return max(len(group), 2)

    def _thread_counts(self, of: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
        """Return, by record, the counts that threads have not yet added to it. of: the record of
        each thread, numbered from 1."""
        by_record = np.zeros(len(self._buffer.records) + 1, np.int64)
        numbers = np.minimum(of, len(self._buffer.records)).astype(np.int64)
        np.add.at(by_record, numbers, counts.astype(np.int64))
        # Number 0 stands for no record.
        return by_record[1:]


def _sum(details: NDArray[Any], name: str) -> NDArray[Any] | None:
    return details[name].sum(axis=0) if len(details) else None


def _share(part: int, total: int) -> float:
    return min(1.0, part / total) if total else 0.0
