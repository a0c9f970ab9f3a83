"""Bottleneck 9: the threads' own work waits for memory, and locks should not add to the traffic."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis, Evidence
from lockwright.advise.evidence import all_met, at_least, informs
from lockwright.advise.seen import Seen
from lockwright.profile import touches

MEMORY = "memory contention"


def memory_contention(seen: Seen) -> Diagnosis:
    """9: by the processor's counters, or else by how much memory is touched in a short time."""
    process = seen.process
    traffic: Evidence
    beside: tuple[Evidence, ...] = ()
    if process.stalls is not None:
        traffic = at_least(
            "cycles lost to memory for each instruction outside locks",
            process.stalls,
            thresholds.STALLS,
            "",
            "between pca's 0.4 and 2.25 (TOCS 2019)",
        )
        measurable = True
    else:
        measurable = process.touched is not None
        traffic = at_least(
            "memory touched, more than the caches hold",
            process.touched,
            touches.RATE,
            "bytes/cpu s",
            "a fifth of what one can stream; in place of stalled cycles, which need counters",
        )
        beside = (informs("cycles lost to memory for each instruction", None, ""),)
    evidence = (
        traffic,
        at_least("threads", seen.threads, 2, "threads", "one thread has no other to contend with"),
        at_least(
            "acquisitions",
            seen.per_cpu_second(process.lock_calls),
            thresholds.CALLS_BESIDE_MEMORY,
            "1/cpu s",
            "below, no lock adds traffic that counts: 1 us of it each is 1 % of the time",
        ),
        *beside,
    )
    return Diagnosis(
        key="memory contention",
        title=MEMORY,
        fired=measurable and all_met(evidence),
        evidence=evidence,
        mutexes=(),
        advice="a lock with low memory traffic",
        measurable=measurable,
    )
