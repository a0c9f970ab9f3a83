"""Bottlenecks 5 and 6: the scheduler takes the processor from the holder, or from who is next."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis, Evidence
from lockwright.advise.evidence import all_met, at_least, informs, most_first
from lockwright.advise.seen import Seen, longest
from lockwright.profile.record import Mutex

HOLDER = "lock holder preemption"
HAND_OVER = "lock handover"

_ENOUGH = 30
"""Handovers from which on their mean says something."""


_PART = 0.1
"""Of the time that makes a bottleneck, what a mutex has to have to be named."""


def _held_without_processor(seen: Seen, mutex: Mutex) -> float:
    """Of the run, the time in which it was held by a thread that lost its processor, while others
    wanted it: no more than they waited."""
    time = mutex.holding.total * longest(mutex.holding, mutex.preempted_holds)
    held = min(1.0, seen.per_second(time) / 1e9 / max(1, mutex.instances))
    return min(held, seen.waiters(mutex))


def _competition(seen: Seen) -> tuple[Evidence, ...]:
    """For processors, between the threads of the program."""
    process = seen.process
    lost = "switches away from a thread that would have run on"
    switches = seen.per_cpu_second(process.involuntary)
    if process.runnable is not None:
        return (
            at_least(
                "threads that run or are ready to",
                process.runnable,
                thresholds.RUNNABLE * process.processors,
                "threads",
                "a quarter more than the processors",
            ),
            informs(lost, switches, "1/cpu s"),
        )
    return (
        at_least(
            "threads",
            seen.threads,
            process.processors + thresholds.SPARE_THREADS,
            "threads",
            "the processors, and the thread that started the others and waits for them",
        ),
        at_least(
            lost,
            switches,
            thresholds.INVOLUNTARY,
            "1/cpu s",
            "a scheduler that shares a processor out switches at least 250 times a second",
        ),
    )


def holder_preemption(seen: Seen) -> Diagnosis:
    """5: threads lose their processor while they hold a mutex that others want."""
    wanted = [index for index, mutex in enumerate(seen.mutexes) if mutex.contended]
    held = {index: _held_without_processor(seen, seen.mutexes[index]) for index in wanted}
    whole = sum(held.values())
    worst = max(wanted, key=held.__getitem__, default=None)
    evidence = (
        *_competition(seen),
        at_least(
            "time in which mutexes that others wanted were held without a processor, of the run",
            whole,
            thresholds.PREEMPTED,
            "share",
            "the longest holds, as many as were interrupted",
        ),
        informs(
            "holds during which the processor was lost, where that is longest",
            seen.mutexes[worst].preempted_holds if worst is not None else 0.0,
            "share",
        ),
    )
    fired = all_met(evidence)
    many = (i for i in wanted if held[i] >= _PART * whole)
    concerned = most_first(many, held.__getitem__) if fired else ()
    return Diagnosis(
        key="holder preemption",
        title=HOLDER,
        fired=fired,
        evidence=evidence,
        mutexes=concerned,
        advice="a lock that parks, or that passes over threads that do not run",
    )


def hand_over(seen: Seen) -> Diagnosis:
    """6: threads block so often that the next in line is rarely running."""

    def ratio(mutex: Mutex) -> float:
        return mutex.cond_waits / mutex.acquisitions if mutex.acquisitions else 0.0

    def rate(mutex: Mutex) -> float:
        waits = mutex.cond_waits / max(1, mutex.instances)
        return seen.per_second(waits) / max(1, seen.process.processors)

    blocking = [
        index
        for index, mutex in enumerate(seen.mutexes)
        if ratio(mutex) >= thresholds.WAITS_PER_ENTRY and rate(mutex) >= thresholds.BLOCKING
    ]
    shown = [seen.mutexes[index] for index in blocking] or seen.mutexes
    most = max(shown, key=lambda mutex: mutex.cond_waits, default=None)
    passed = sum(seen.mutexes[index].hand_over.count for index in blocking)
    late = sum(seen.mutexes[index].hand_over.total for index in blocking)
    held = sum(seen.mutexes[index].holding.total for index in blocking)
    entries = sum(seen.mutexes[index].holding.count for index in blocking)
    evidence = [
        at_least(
            "waits on condition variables for each acquisition of their mutex",
            ratio(most) if most else 0.0,
            thresholds.WAITS_PER_ENTRY,
            "",
            "the mutex serves to block",
        ),
        at_least(
            "waits on condition variables of one mutex, for each processor",
            rate(most) if most else 0.0,
            thresholds.BLOCKING,
            "1/s",
            "50 us to get a sleeper running again, each time: 5 % of the time",
        ),
        informs(
            "blocking calls but those for mutexes, for each processor",
            seen.blocking,
            "1/s",
        ),
        informs(
            "changes of processor",
            seen.per_cpu_second(seen.process.migrations),
            "1/cpu s",
        ),
    ]
    if passed >= _ENOUGH and entries:
        evidence.insert(
            2,
            at_least(
                "handover from one thread to the next, on average",
                late / passed,
                held / entries,
                "ns",
                "as long as the mutex is held; in place of a run with pinned threads",
            ),
        )
    fired = bool(blocking) and all_met(tuple(evidence))
    blocking_most = most_first(blocking, lambda index: seen.mutexes[index].cond_waits)
    return Diagnosis(
        key="handover",
        title=HAND_OVER,
        fired=fired,
        evidence=tuple(evidence),
        mutexes=blocking_most if fired else (),
        advice="avoid locks that hand over in order to threads that spin; pin the threads",
    )
