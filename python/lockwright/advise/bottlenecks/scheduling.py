"""Bottlenecks 5 and 6: the holder is preempted, or the successor does not run."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis, Evidence
from lockwright.advise.evidence import all_met, at_least, informs, most_first
from lockwright.advise.profile_figures import ProfileFigures, time_share_of_longest
from lockwright.profile.record import Mutex

HOLDER = "lock holder preemption"
HANDOVER = "lock handover"

_ENOUGH = 30
"""Least number of handovers whose mean is used as evidence."""

_NAMED_FROM = 0.1
"""Least share of the bottleneck's time at which a mutex is named."""


def _held_without_processor(figures: ProfileFigures, mutex: Mutex) -> float:
    """Return the share of the run in which a preempted thread held the mutex while others waited
    for it, at most the share in which they waited."""
    time = mutex.holding.total * time_share_of_longest(mutex.holding, mutex.preempted_holds)
    held = min(1.0, figures.per_second(time) / 1e9 / max(1, mutex.instances))
    return min(held, figures.waiters(mutex))


def _competition(figures: ProfileFigures) -> tuple[Evidence, ...]:
    """Return the evidence on whether the program's threads compete for processors."""
    process = figures.process
    preemptions = "involuntary context switches"
    switches = figures.per_cpu_second(process.involuntary)
    if process.runnable is not None:
        return (
            at_least(
                "threads that run or are ready to",
                process.runnable,
                thresholds.RUNNABLE * process.processors,
                "threads",
                "a quarter more than the processors",
            ),
            informs(preemptions, switches, "1/cpu s"),
        )
    return (
        at_least(
            "threads",
            figures.threads,
            process.processors + thresholds.SPARE_THREADS,
            "threads",
            "the processors, and the thread that started the others and waits for them",
        ),
        at_least(
            preemptions,
            switches,
            thresholds.INVOLUNTARY,
            "1/cpu s",
            "a scheduler that shares a processor switches at least 250 times a second",
        ),
    )


def holder_preemption(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 5: threads are preempted while they hold a contended mutex."""
    contended = [index for index in figures.helped if figures.mutexes[index].contended]
    held = {index: _held_without_processor(figures, figures.mutexes[index]) for index in contended}
    total = sum(held.values())
    worst = max(contended, key=held.__getitem__, default=None)
    evidence = (
        *_competition(figures),
        at_least(
            "time in which mutexes that others wanted were held without a processor, of the run",
            total,
            thresholds.PREEMPTED,
            "share",
            "the longest sections, as many as were preempted",
        ),
        informs(
            "sections in which the holder was preempted, of the most affected mutex",
            figures.mutexes[worst].preempted_holds if worst is not None else 0.0,
            "share",
        ),
    )
    fired = all_met(evidence)
    worst_indices = (i for i in contended if held[i] >= _NAMED_FROM * total)
    affected = most_first(worst_indices, held.__getitem__) if fired else ()
    return Diagnosis(
        key="holder preemption",
        title=HOLDER,
        fired=fired,
        evidence=evidence,
        mutexes=affected,
        advice="a lock that parks, or that skips waiters that do not run",
    )


def handover(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 6: threads block so often that the successor is rarely running."""

    def ratio(mutex: Mutex) -> float:
        return mutex.cond_waits / mutex.acquisitions if mutex.acquisitions else 0.0

    def rate(mutex: Mutex) -> float:
        waits = mutex.cond_waits / max(1, mutex.instances)
        return figures.per_second(waits) / max(1, figures.process.processors)

    blocking = [
        index
        for index, mutex in enumerate(figures.mutexes)
        if ratio(mutex) >= thresholds.WAITS_PER_ENTRY and rate(mutex) >= thresholds.BLOCKING
    ]
    candidates = [figures.mutexes[index] for index in blocking] or figures.mutexes
    most = max(candidates, key=lambda mutex: mutex.cond_waits, default=None)
    handovers = sum(figures.mutexes[index].hand_over.count for index in blocking)
    late = sum(figures.mutexes[index].hand_over.total for index in blocking)
    held = sum(figures.mutexes[index].holding.total for index in blocking)
    entries = sum(figures.mutexes[index].holding.count for index in blocking)
    evidence = [
        at_least(
            "waits on condition variables for each acquisition of their mutex",
            ratio(most) if most else 0.0,
            thresholds.WAITS_PER_ENTRY,
            "",
            "threads use the mutex to block",
        ),
        at_least(
            "waits on condition variables of one mutex, for each processor",
            rate(most) if most else 0.0,
            thresholds.BLOCKING,
            "1/s",
            "50 us to wake a parked thread, each time: 5 % of the time",
        ),
        informs(
            "blocking calls other than for mutexes, for each processor",
            figures.blocking_rate,
            "1/s",
        ),
        informs(
            "migrations to another processor",
            figures.per_cpu_second(figures.process.migrations),
            "1/cpu s",
        ),
    ]
    if handovers >= _ENOUGH and entries:
        evidence.insert(
            2,
            at_least(
                "handover from one thread to the next, on average",
                late / handovers,
                held / entries,
                "ns",
                "as long as the mutex is held; in place of a run with pinned threads",
            ),
        )
    fired = bool(blocking) and all_met(tuple(evidence))
    blocking_most = most_first(blocking, lambda index: figures.mutexes[index].cond_waits)
    return Diagnosis(
        key="handover",
        title=HANDOVER,
        fired=fired,
        evidence=tuple(evidence),
        mutexes=blocking_most if fired else (),
        advice="avoid locks that hand over in FIFO order to spinning threads; pin the threads",
    )
