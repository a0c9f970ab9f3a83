"""A profile: the mutexes of a program during one run, and its JSON file.

Durations are in nanoseconds. Numbers of acquisitions, and sums of holding times, are estimates from
samples, each of which stands for the acquisitions since the one before it; events on the slow path
(a mutex found held, waits, sleeps) are all counted.
"""

import dataclasses
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self

from lockwright.base import documents
from lockwright.base.errors import LockwrightError
from lockwright.profile.chain import Chain
from lockwright.profile.frames import Frame, stack_label
from lockwright.profile.time_lost import lost_share
from lockwright.profile.waiting import Account, Holder, ProcessUse, WaitObject

FORMAT = "lockwright profile 1"
_ANY_VERSION = r"lockwright profile \d+"


@dataclass(frozen=True)
class Distribution:
    """A distribution of durations. count, total: of all, by the weights of the samples; samples:
    their number. buckets: pairs of a lower bound in ns and the weight up to the next bound, which
    is the resolution of p50, p90, p99 and most."""

    count: float = 0
    total: float = 0
    samples: int = 0
    p50: float = 0
    p90: float = 0
    p99: float = 0
    most: float = 0
    buckets: tuple[tuple[float, float], ...] = ()

    @property
    def mean(self) -> float:
        """The mean in ns; 0 if there are none."""
        return self.total / self.count if self.count else 0.0


OBJECT: Final = "object"
"""A mutex in a variable of a module: the frame is its address, the symbol its name."""
CREATED: Final = "created"
"""A mutex that a call initialised: the frame is the caller."""
FIRST_TAKEN: Final = "first taken"
"""Another mutex: the frame is the first caller that locked it."""
PlaceKind = Literal["object", "created", "first taken"]

USER_NUMBERS = 192
"""The bits of a record's set of threads, in src/probe/profile_buffer.hpp."""

TYPES = ("normal", "recursive", "error-checking", "adaptive")
"""The types of mutexes, by the low two bits of the kind word."""


@dataclass(frozen=True)
class Place:
    """The identity of a mutex across runs. kind: OBJECT, CREATED or FIRST_TAKEN. ordinal: index
    among the mutexes of that frame in the order of their creation; -1 for all of them together.
    stack: of the call, where it was walked, from `frame` outwards. wrappers: as in a Site."""

    kind: PlaceKind
    frame: Frame
    ordinal: int = 0
    stack: tuple[Frame, ...] = ()
    wrappers: int = 0


@dataclass(frozen=True)
class Site:
    """A stack from which a mutex was taken. stack[0] is the caller of the lock function, and the
    last frame the outermost known. waited, held: ns, of acquisitions from this stack. wrappers:
    number of innermost frames whose functions lock the mutex for their callers. is_left_locked:
    whether the caller returns with the mutex held, which another function releases."""

    stack: tuple[Frame, ...]
    acquisitions: float
    contended: int
    waited: float
    held: float
    wrappers: int = 0
    is_left_locked: bool = False

    @property
    def label(self) -> str:
        """The caller of the wrappers, with the outermost wrapper."""
        return stack_label(self.stack, self.wrappers)


@dataclass(frozen=True)
class Block:
    """Waits at one site for holds of another. waiter, holder: indices into the mutex's sites;
    holder is -1 if unknown. waited: ns."""

    holder: int
    waiter: int
    times: int
    waited: float


@dataclass(frozen=True)
class Mutex:
    """A mutex, or all of one place where there are too many to list (instances > 1).

    contended: acquisitions that found it held. waiting: of those; holding: of all; hand_over: from
    the unlock to the return of the successor. arrivals[n]: acquisitions that found n others
    waiting. waiters_mean, waiters_most: at `sampled_times` regular samples; the mean is over the
    samples at which any thread waited or held it. trylocks that fail are neither acquisitions nor
    contended. futile_wakeups: returns from a condition variable wait after which the thread waited
    again at once without having done anything, at least. threads: those that took it in a sample or
    waited for it; if at least two remain, without those that do so a hundred times more rarely than
    the average, such as the one that started the others. owner_changes: share of samples in which
    the previous owner was another thread. preempted_holds: share of timed holds during which the
    kernel preempted the holder. slept: share of the time in timed holds in which the holder slept,
    but not for a lock. users: numbers, modulo USER_NUMBERS, of all threads that took it in a sample
    or waited for it. holders: known of an attached process only, most frequent first.
    """

    name: str
    place: Place
    address: int
    type: str
    acquisitions: float
    contended: int
    waiting: Distribution
    holding: Distribution
    hand_over: Distribution
    arrivals: tuple[int, ...] = ()
    waiters_mean: float = 0
    waiters_most: int = 0
    sampled_times: int = 0
    instances: int = 1
    trylocks: float = 0
    failed_trylocks: int = 0
    cond_waits: int = 0
    cond_signals: int = 0
    futile_wakeups: int = 0
    threads: int = 0
    owner_changes: float = 0
    preempted_holds: float = 0
    slept: float = 0
    sites: tuple[Site, ...] = ()
    blocks: tuple[Block, ...] = ()
    users: tuple[int, ...] = ()
    holders: tuple[Holder, ...] = ()

    @property
    def lost(self) -> float:
        """Time that threads spent waiting for it, in ns, summed over the threads."""
        return self.waiting.total

    def holder(self, block: Block) -> str:
        """Return the label of the holder's site; "" if unknown."""
        return self.taken_at(block.holder, True)

    def waiter(self, block: Block) -> str:
        """Return the label of the waiter's site; "" if unknown."""
        return self.taken_at(block.waiter, False)

    def taken_at(self, index: int, holds: bool) -> str:
        """Return the label of a site of which only the caller of the lock function is certain. If
        that is a wrapper with several callers, the caller with half of the holding (if `holds`) or
        waiting is named as the most likely."""
        if not 0 <= index < len(self.sites) or not self.sites[index].stack:
            return ""
        return self._callers[index][holds]

    @cached_property
    def _callers(self) -> list[tuple[str, str]]:
        """The labels of each site, by its index: of waiters and of holders."""
        shares: dict[tuple[Frame, ...], dict[str, list[float]]] = {}
        for site in self.sites:
            sums = shares.setdefault(site.stack[:1], {}).setdefault(site.label, [0.0, 0.0])
            sums[0] += site.waited
            sums[1] += site.held
        return [
            (_most_likely(site, of_caller, 0), _most_likely(site, of_caller, 1))
            for site in self.sites
            for of_caller in [shares[site.stack[:1]]]
        ]

    @property
    def contended_share(self) -> float:
        """The share of acquisitions that found it held, from 0 to 1."""
        return min(1.0, self.contended / self.acquisitions) if self.acquisitions else 0.0


@dataclass(frozen=True)
class RwLock:
    """A reader-writer lock, or all of one place as for a Mutex. readers, writers: the acquisitions
    of each side, in the form of a mutex of that type; what a mutex alone has, as handovers and
    preempted holds, is not measured. A holder's site is that of the writer inside or of a recent
    reader. threads: those that took it in a sample or waited for it, or fewer if there are more
    than USER_NUMBERS."""

    name: str
    place: Place
    address: int
    instances: int
    threads: int
    readers: Mutex
    writers: Mutex

    @property
    def lost(self) -> float:
        """Time that threads spent waiting for it, in ns, summed over the threads."""
        return self.readers.lost + self.writers.lost

    @property
    def acquisitions(self) -> float:
        """The acquisitions of both sides."""
        return self.readers.acquisitions + self.writers.acquisitions

    @property
    def read_share(self) -> float:
        """The share of reads in the acquisitions, from 0 to 1."""
        return self.readers.acquisitions / self.acquisitions if self.acquisitions else 0.0


def _most_likely(site: Site, shares: dict[str, list[float]], which: int) -> str:
    if site.wrappers == 0 or len(shares) == 1:
        return site.label
    most = max(shares, key=lambda name: shares[name][which])
    if 2 * shares[most][which] >= sum(sums[which] for sums in shares.values()) > 0:
        return f"mostly {most}"
    return site.stack[site.wrappers - 1].short_label


@dataclass(frozen=True)
class Creation:
    """The creation of mutexes. created, destroyed: calls of pthread_mutex_init and _destroy.
    creators: threads that created any; by_most: share that the busiest of these created. early:
    share that was created in the first tenth of the run. alive_most: the most at one time."""

    created: int = 0
    destroyed: int = 0
    creators: int = 0
    by_most: float = 0
    early: float = 0
    alive_most: int = 0


LACKING = 0.2
"""Share of the usable processors that threads lacked, above which they count as crowded."""


@dataclass(frozen=True)
class Process:
    """The process, over `duration` ns.

    processors: those that it may use. threads_most: at one time, threads_mean: averaged over time,
    both of samples; threads_seen: those that took a mutex, or all in the samples of an attached
    process; 0 if the profile does not have it. runnable: threads that ran or were ready to,
    averaged over time; wanting: the same with those that waited for a mutex; None if unknown.
    realtime: the most threads with a real-time policy (SCHED_FIFO, SCHED_RR) in a sample; None
    without samples. lock_calls: acquisitions of any mutex; rwlock_calls (of process-shared ones),
    spin_calls, unprofiled_calls (of mutexes that are shared, robust or have a protocol): counted
    only. cpu_user, cpu_system: ns. voluntary, involuntary: context switches. migrations: between
    samples of one thread. minor_faults, major_faults: page faults. mmap_calls: mappings made and
    removed through the C library's functions. touched: bytes of memory touched per second of
    processor time, the median of a few samples, each long enough to touch twice the last-level
    cache; last_cache: bytes of that cache; None if unknown.
    """

    duration: float = 0
    processors: int = 0
    threads_most: int = 0
    threads_mean: float = 0
    lock_calls: float = 0
    rwlock_calls: int = 0
    spin_calls: int = 0
    unprofiled_calls: int = 0
    cond_waits: int = 0
    cpu_user: float = 0
    cpu_system: float = 0
    voluntary: int = 0
    involuntary: int = 0
    migrations: float = 0
    minor_faults: int = 0
    major_faults: int = 0
    mmap_calls: int = 0
    touched: float | None = None
    last_cache: int | None = None
    runnable: float | None = None
    wanting: float | None = None
    realtime: int | None = None
    creation: Creation = field(default_factory=Creation)
    threads_seen: int = 0

    @property
    def cpu(self) -> float:
        """Processor time in ns."""
        return self.cpu_user + self.cpu_system

    @property
    def busy_share(self) -> float | None:
        """The share of processors that had a thread of the process to run, on average; None if
        unknown."""
        if self.runnable is None:
            return None
        return min(1.0, self.runnable / max(1, self.processors))

    @property
    def had(self) -> float:
        """Processors that its threads had, on average."""
        return self.cpu / self.duration if self.duration else 0.0

    @property
    def queued(self) -> float | None:
        """The share of the time in which threads were ready to run that they spent without a
        processor, in a run queue or since a quota was used up; None if unknown."""
        if not self.runnable or not self.duration:
            return None
        return max(0.0, 1 - self.had / self.runnable)

    @property
    def lacked(self) -> float | None:
        """The share of the processors that its threads could have used and did not have, as other
        programs, a quota or a host had them; None if unknown."""
        if not self.runnable or not self.duration:
            return None
        return max(0.0, 1 - self.had / min(self.runnable, max(1, self.processors)))

    @property
    def pressure(self) -> float:
        """The factor by which lacking processors make threads outnumber them; 1 if none lack."""
        lacked = self.lacked or 0.0
        return 1 / max(0.01, 1 - lacked) if lacked > LACKING else 1.0


@dataclass(frozen=True)
class ThreadUse:
    """A thread that took mutexes. active: ns from its first acquisition to its last sample or wait.
    on_processor: share of its time that it spent on a processor; None where too few samples saw it.
    contended: acquisitions that found a mutex held."""

    number: int
    name: str
    acquisitions: float
    contended: int
    cond_waits: int
    active: float
    on_processor: float | None = None


@dataclass(frozen=True)
class Span:
    """A part of the timeline: one thread waited for a mutex or held it. kind: "wait" or "hold";
    mutex: index into the profile's mutexes; site: index into the mutex's sites, or -1; begin, end:
    ns after the start of the profile."""

    thread: int
    mutex: int
    kind: Literal["wait", "hold"]
    begin: float
    end: float
    site: int = -1


@dataclass(frozen=True)
class Profile:
    """A run of one process. mutexes: in descending order of the time lost; waits: for other
    objects, in descending order of the time waited; these, `account` and `processes` are of all
    processes that were recorded, the rest of the one that waited most for locks. thread_names:
    of the numbers in `timeline`. partial: why the profile does not cover the entire run, or "".
    mechanism: "preload", or how it was attached to a running process. threads: those with most
    acquisitions. rwlock: the implementation of reader-writer locks, "keep" or "mutex"; rwlocks:
    those that were kept, like `mutexes`. deadlock: indices of the mutexes of the deadlock in
    which the run ended, if it did. is_unseen: whether no mutex was recorded of a program that
    could not report. exit_status: None if the program did not exit. chains: where waiting
    ends, the largest share first."""

    command: tuple[str, ...]
    pid: int
    started: str
    mechanism: str
    process: Process
    mutexes: tuple[Mutex, ...]
    timeline: tuple[Span, ...] = ()
    thread_names: dict[str, str] = field(default_factory=dict)
    partial: str = ""
    rwlock: str = "keep"
    deadlock: tuple[int, ...] = ()
    is_unseen: bool = False
    exit_status: int | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    threads: tuple[ThreadUse, ...] = ()
    rwlocks: tuple[RwLock, ...] = ()
    waits: tuple[WaitObject, ...] = ()
    account: Account = field(default_factory=Account)
    processes: tuple[ProcessUse, ...] = ()
    chains: tuple[Chain, ...] = ()

    @property
    def is_preloaded(self) -> bool:
        """True if the profiler was loaded into the program and recorded its calls; otherwise only
        sleeping waiters were sampled."""
        return self.mechanism == "preload"

    @property
    def lost(self) -> float:
        """Time that threads spent waiting for any mutex, in ns, summed over the threads."""
        return sum(mutex.lost for mutex in self.mutexes)

    @property
    def rwlocks_lost(self) -> float:
        """Time that threads spent waiting for any reader-writer lock, likewise."""
        return sum(each.lost for each in self.rwlocks)

    @property
    def lost_share(self) -> float:
        """The share of `lost` in the time in which threads ran or waited."""
        return self.lost_share_of(self.lost)

    def lost_share_of(self, waited: float) -> float:
        """Return the share of `waited` ns in the time in which threads ran or waited."""
        return lost_share(waited, self.lost + self.rwlocks_lost, self.process.cpu)

    def to_json(self) -> str:
        """Return the text of the JSON file, with the sums that readers would have to compute."""
        sums = {"lost": self.lost, "lost_share": self.lost_share}
        document = {"format": FORMAT, **sums, **dataclasses.asdict(self)}
        return json.dumps(document, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the profile in a text. Raises ValueError for any other text."""
        document = documents.parse_json(text)
        found = document.get("format", None) if isinstance(document, dict) else None
        if isinstance(found, str) and found != FORMAT and re.fullmatch(_ANY_VERSION, found):
            raise ValueError(f"it has the format {found!r}, but this version reads {FORMAT!r}")
        if found != FORMAT:
            raise ValueError("it does not begin like a profile")
        profile = documents.typed(cls, document)
        indices = {span.mutex for span in profile.timeline} | set(profile.deadlock)
        if not indices <= set(range(len(profile.mutexes))):
            raise ValueError("its timeline refers to a mutex that is missing")
        if any(span.end < span.begin for span in profile.timeline):
            raise ValueError("a span of its timeline ends before it begins")
        return profile


def read(path: Path) -> Profile:
    """Return the profile in a file. Raises LockwrightError if it contains none."""
    todo = "name a file that 'lockwright profile -o' wrote"
    try:
        return Profile.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockwrightError(f"cannot read {path}: {error.strerror}", todo) from error
    except ValueError as error:
        raise LockwrightError(f"{path} is not a profile ({error})", todo) from error
