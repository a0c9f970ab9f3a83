"""Bottleneck 9: the threads' own work contends for memory, so locks should add little traffic."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis
from lockwright.advise.evidence import all_met, at_least
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.profile import working_set

MEMORY = "memory contention"


def memory_contention(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 9 by the rate at which the program touches memory."""
    process = figures.process
    measurable = process.touched is not None
    evidence = (
        at_least(
            "memory touched, more than the caches hold",
            process.touched,
            working_set.RATE,
            "bytes/cpu s",
            "a fifth of the streaming rate; in place of stalled cycles, which need counters",
        ),
        at_least(
            "threads", figures.threads, 2, "threads", "one thread has no other to contend with"
        ),
        at_least(
            "acquisitions",
            figures.per_cpu_second(process.lock_calls),
            thresholds.CALLS_BESIDE_MEMORY,
            "1/cpu s",
            "below, no lock adds relevant traffic: 1 us of it each is 1 % of the time",
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
