"""The rates and shares of a profile that the rules use, each computed once."""

from functools import cached_property

from lockwright.advise import thresholds
from lockwright.profile import long_holds
from lockwright.profile.record import Distribution, Mutex, Profile
from lockwright.profile.time_lost import lost_share


class ProfileFigures:
    """A profile and the figures derived from it. An unknown figure is None."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.process = profile.process
        self.mutexes = profile.mutexes
        self.is_preloaded = profile.is_preloaded

    @cached_property
    def seconds(self) -> float:
        """The duration of the run."""
        return self.process.duration / 1e9

    @cached_property
    def cpu_ns(self) -> float:
        """Processor time in ns."""
        return self.process.cpu

    @cached_property
    def threads(self) -> float:
        """The number of threads, on average if known, otherwise at most."""
        return self.process.threads_mean or self.process.threads_most

    @cached_property
    def nodes(self) -> int | None:
        """The number of NUMA nodes of the machine, if the profile has it."""
        known = self.profile.provenance.get("numa nodes")
        return known if isinstance(known, int) else None

    def per_second(self, number: float) -> float:
        return number / self.seconds if self.seconds else 0.0

    def per_cpu_second(self, number: float) -> float | None:
        return number / self.cpu_ns * 1e9 if self.cpu_ns else None

    @cached_property
    def unhelped(self) -> dict[int, long_holds.Reason]:
        """Why no lock shortens the waits for a mutex, by the indices of such mutexes."""
        reasons = {
            index: long_holds.reason(self.profile, index) for index in range(len(self.mutexes))
        }
        return {index: reason for index, reason in reasons.items() if reason is not None}

    @cached_property
    def helped(self) -> tuple[int, ...]:
        """Indices of the other mutexes."""
        return tuple(index for index in range(len(self.mutexes)) if index not in self.unhelped)

    @cached_property
    def lost_share(self) -> float:
        """The share of waiting that a lock may shorten in the time in which threads ran or
        waited."""
        return self.lost_share_of(sum(self.mutexes[index].lost for index in self.helped))

    @cached_property
    def contended(self) -> int:
        """The acquisitions that found a mutex held, where a lock may shorten the wait."""
        return sum(self.mutexes[index].contended for index in self.helped)

    def lost_share_of(self, waited: float) -> float:
        """Return the share of `waited` ns in the time in which threads ran or waited."""
        return self.profile.lost_share_of(waited)

    @cached_property
    def _waited_for_locks(self) -> float:
        others = sum(each.waited for each in self.profile.waits if each.kind == "lock")
        return self.profile.lost + self.profile.rwlocks_lost + others

    def other_lost_share_of(self, waited: float) -> float:
        """Return the same for a lock that is neither a mutex nor a reader-writer lock, where the
        waits for all of these count, too."""
        return lost_share(waited, self._waited_for_locks, self.cpu_ns)

    def users(self, mutex: Mutex) -> float:
        """Return the number of threads that use the mutex at one time."""
        return min(mutex.threads or self.threads, self.threads)

    def waiters(self, mutex: Mutex) -> float:
        """Return the number of waiters, on average over the run; a mean per mutex where one record
        stands for several."""
        return self.per_second(mutex.lost) / 1e9 / max(1, mutex.instances)

    def held_share(self, mutex: Mutex) -> float:
        """Return the share of the run in which the mutex was held; a mean per mutex where one
        record stands for several."""
        return min(1.0, self.per_second(mutex.holding.total) / 1e9 / max(1, mutex.instances))

    def waiting_share(self, mutex: Mutex) -> float:
        """Return the share of waiters in the threads that could wait while one holds the mutex.
        Where threads share processors, woken threads wait for one while the mutex is free, so the
        share is then at most that of the time in which it is held."""
        others = self.users(mutex) - 1
        share = min(1.0, self.waiters(mutex) / others) if others > 0 else 0.0
        known = self.over_subscribed and mutex.holding.count
        return min(share, self.held_share(mutex)) if known else share

    @cached_property
    def costly(self) -> tuple[int, ...]:
        """Indices of the mutexes at which a relevant share of the time is lost that a lock may
        shorten."""
        return tuple(
            index
            for index in self.helped
            if self.lost_share_of(self.mutexes[index].lost) >= thresholds.LOST
        )

    @cached_property
    def most_contended(self) -> int | None:
        """Index of the costly mutex with the largest share of waiters."""
        return max(
            self.costly, key=lambda index: self.waiting_share(self.mutexes[index]), default=None
        )

    @cached_property
    def over_subscribed(self) -> bool:
        """True if more threads than processors run, so that they preempt each other."""
        if self.process.runnable is not None:
            return self.process.runnable >= thresholds.RUNNABLE * self.process.processors
        switches = self.per_cpu_second(self.process.involuntary)
        return (
            self.threads >= self.process.processors + thresholds.SPARE_THREADS
            and switches is not None
            and switches >= thresholds.INVOLUNTARY
        )

    @cached_property
    def polling_threads(self) -> float:
        """The number of runnable threads, on average, if waiters polled instead of parking."""
        if self.process.wanting is not None:
            return self.process.wanting
        running = self.per_second(self.cpu_ns) / 1e9
        return min(self.threads, running + self.per_second(self.profile.lost) / 1e9)

    @cached_property
    def crowded(self) -> bool:
        """True if more threads than processors would be runnable if waiters polled, or others had
        the processors."""
        most = thresholds.RUNNABLE * self.process.processors
        lacks = self.process.pressure > 1
        return lacks or self.over_subscribed or self.polling_threads >= most

    @cached_property
    def busy_share(self) -> float | None:
        """The share of processors that had a thread of the program to run, on average."""
        return self.process.busy_share

    @cached_property
    def realtime_threads(self) -> int:
        """The number of threads with real-time priorities; 0 where unknown."""
        return self.process.realtime or 0

    @cached_property
    def blocking_rate(self) -> float:
        """The calls that block a thread, per second and processor, without those for mutexes."""
        others = self.process.voluntary - sum(mutex.contended for mutex in self.mutexes)
        number = max(self.process.cond_waits, others)
        return self.per_second(number) / max(1, self.process.processors)

    @cached_property
    def instances(self) -> int:
        """The number of mutexes at one time: initialised by calls, or at least recorded."""
        recorded = sum(mutex.instances for mutex in self.mutexes)
        return max(self.process.creation.alive_most, recorded)

    @cached_property
    def fault_time(self) -> float | None:
        """The share of page faults in the processor time, by the cost of one."""
        if not self.cpu_ns:
            return None
        faults = self.process.minor_faults + self.process.major_faults
        return min(1.0, faults * thresholds.FAULT_NS / self.cpu_ns)

    @cached_property
    def most_fault_time(self) -> float | None:
        """The share of page faults if all processors contend for the lock of the handler: each
        fault then waits for one on every other processor."""
        contenders = min(self.process.processors, self.process.threads_most)
        return None if self.fault_time is None else min(1.0, self.fault_time * max(1, contenders))


def time_share_of_longest(distribution: Distribution, share: float) -> float:
    """Return the share of a distribution's total time in its longest `share` of durations, by the
    buckets; without buckets, as if all durations were equal."""
    total = sum(weight * low for low, weight in distribution.buckets)
    if not total:
        return share
    left = share * sum(weight for _, weight in distribution.buckets)
    time = 0.0
    for low, weight in reversed(distribution.buckets):
        taken = min(left, weight)
        time += taken * low
        left -= taken
    return min(1.0, time / total)
