"""Bottleneck 9: the threads' own work waits for memory, and locks should not add to the traffic."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis
from lockwright.advise.evidence import all_met, at_least
from lockwright.advise.seen import Seen
from lockwright.profile import working_set

MEMORY = "memory contention"


def memory_contention(seen: Seen) -> Diagnosis:
    """9: by how much memory is touched in a short time."""
    process = seen.process
    measurable = process.touched is not None
    evidence = (
        at_least(
            "memory touched, more than the caches hold",
            process.touched,
            working_set.RATE,
            "bytes/cpu s",
            "a fifth of what one can stream; in place of stalled cycles, which need counters",
        ),
        at_least("threads", seen.threads, 2, "threads", "one thread has no other to contend with"),
        at_least(
            "acquisitions",
            seen.per_cpu_second(process.lock_calls),
            thresholds.CALLS_BESIDE_MEMORY,
            "1/cpu s",
            "below, no lock adds traffic that counts: 1 us of it each is 1 % of the time",
        ),
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
