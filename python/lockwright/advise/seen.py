"""What the rules ask of a profile: rates and shares, computed once."""

from functools import cached_property

from lockwright.advise import thresholds
from lockwright.profile.record import Distribution, Mutex, Profile


class Seen:
    """A profile with what follows from it. What cannot be known is None."""

    def __init__(self, profile: Profile) -> None:
        """Computes when asked."""
        self.profile = profile
        self.process = profile.process
        self.mutexes = profile.mutexes

    @cached_property
    def from_within(self) -> bool:
        """Whether the profiler was in the program, and saw its calls."""
        return self.profile.from_within

    @cached_property
    def seconds(self) -> float:
        """That the run took."""
        return self.process.duration / 1e9

    @cached_property
    def cpu(self) -> float:
        """Processor time in ns."""
        return self.process.cpu_user + self.process.cpu_system

    @cached_property
    def threads(self) -> float:
        """That were there, on average."""
        return self.process.threads_mean or self.process.threads_most

    @cached_property
    def nodes(self) -> int | None:
        """NUMA nodes of the machine, where the profile says."""
        known = self.profile.provenance.get("numa nodes")
        return known if isinstance(known, int) else None

    def per_second(self, number: float) -> float:
        """For each second of the run."""
        return number / self.seconds if self.seconds else 0.0

    def per_cpu_second(self, number: float) -> float | None:
        """For each second of processor time."""
        return number / self.cpu * 1e9 if self.cpu else None

    @cached_property
    def lost_share(self) -> float:
        """Time spent waiting, of the time in which threads ran or waited."""
        return self.lost(self.profile.lost)

    def lost(self, waited: float) -> float:
        """The same of ns that were waited."""
        active = self.profile.lost + self.cpu
        return waited / active if active else 0.0

    def users(self, mutex: Mutex) -> float:
        """Threads that use it at one time: no more than there are."""
        return min(mutex.threads or self.threads, self.threads)

    def waiters(self, mutex: Mutex) -> float:
        """That stand in line at one time, on average over the run; at each of several mutexes that
        one record stands for."""
        return self.per_second(mutex.lost) / 1e9 / max(1, mutex.instances)

    def held(self, mutex: Mutex) -> float:
        """Of the run, the time in which it was held; a mean if one record stands for several."""
        return min(1.0, self.per_second(mutex.holding.total) / 1e9 / max(1, mutex.instances))

    def in_line(self, mutex: Mutex) -> float:
        """Waiters, of the threads that could wait while one holds the mutex.

        Where threads share processors, holders and threads on their way to the mutex are slowed
        down alike, which leaves this share as it is. But who was woken waits for a processor then,
        while the mutex is free: no more threads are in line than were so for as long as it is held.
        """
        others = self.users(mutex) - 1
        share = min(1.0, self.waiters(mutex) / others) if others > 0 else 0.0
        known = self.over_subscribed and mutex.holding.count
        return min(share, self.held(mutex)) if known else share

    @cached_property
    def hot(self) -> tuple[int, ...]:
        """Mutexes that cost a share of the time that counts."""
        return tuple(
            index
            for index, mutex in enumerate(self.mutexes)
            if self.lost(mutex.lost) >= thresholds.LOST
        )

    @cached_property
    def hottest(self) -> int | None:
        """Of these, the one with the most threads in line."""
        return max(self.hot, key=lambda index: self.in_line(self.mutexes[index]), default=None)

    @cached_property
    def over_subscribed(self) -> bool:
        """More threads than processors, that take the processors away from each other."""
        if self.process.runnable is not None:
            return self.process.runnable >= thresholds.RUNNABLE * self.process.processors
        switches = self.per_cpu_second(self.process.involuntary)
        return (
            self.threads >= self.process.processors + thresholds.SPARE_THREADS
            and switches is not None
            and switches >= thresholds.INVOLUNTARY
        )

    @cached_property
    def polling(self) -> float:
        """Threads that would run or be ready to if those that wait for a mutex polled in place of
        sleeping, on average."""
        if self.process.wanting is not None:
            return self.process.wanting
        running = self.per_second(self.cpu) / 1e9
        return min(self.threads, running + self.per_second(self.profile.lost) / 1e9)

    @cached_property
    def crowded(self) -> bool:
        """More threads would run than there are processors, if their locks let them poll."""
        most = thresholds.RUNNABLE * self.process.processors
        return self.over_subscribed or self.polling >= most

    @cached_property
    def busy(self) -> float | None:
        """Of the processors, those that had a thread of the program to run, on average."""
        if self.process.runnable is None:
            return None
        return min(1.0, self.process.runnable / max(1, self.process.processors))

    @cached_property
    def realtime(self) -> int:
        """Threads with real-time priorities; none where this is not known."""
        return self.process.realtime or 0

    @cached_property
    def blocking(self) -> float:
        """Calls that put a thread to sleep, for each second and processor, without those that wait
        for a mutex."""
        others = self.process.voluntary - sum(mutex.contended for mutex in self.mutexes)
        number = max(self.process.cond_waits, others)
        return self.per_second(number) / max(1, self.process.processors)

    @cached_property
    def instances(self) -> int:
        """Mutexes at one time: that were initialised by calls, or else that were seen."""
        seen = sum(mutex.instances for mutex in self.mutexes)
        return max(self.process.creation.alive_most, seen)

    @cached_property
    def fault_time(self) -> float | None:
        """Page faults, of the processor time, by what one costs."""
        if not self.cpu:
            return None
        faults = self.process.minor_faults + self.process.major_faults
        return min(1.0, faults * thresholds.FAULT_NS / self.cpu)

    @cached_property
    def most_fault_time(self) -> float | None:
        """The same, if all processors meet in the handler: one lock lets them in one by one, so
        that each fault waits for one on every other processor."""
        meet = min(self.process.processors, self.process.threads_most)
        return None if self.fault_time is None else min(1.0, self.fault_time * max(1, meet))


def longest(distribution: Distribution, share: float) -> float:
    """Of the time in a distribution, that in the longest `share` of the durations; by the buckets,
    and without them as if all were equal."""
    whole = sum(weight * low for low, weight in distribution.buckets)
    if not whole:
        return share
    left = share * sum(weight for _, weight in distribution.buckets)
    time = 0.0
    for low, weight in reversed(distribution.buckets):
        taken = min(left, weight)
        time += taken * low
        left -= taken
    return min(1.0, time / whole)
