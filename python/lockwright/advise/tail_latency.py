"""The rule on whether the lock decides the tail latency (TOCS 2019, section 7.4)."""

from lockwright.advise import thresholds
from lockwright.advise.advice import TailLatency
from lockwright.advise.evidence import at_least, informs
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.profile.record import Mutex


def _active_time(figures: ProfileFigures, mutex: Mutex) -> float:
    """Return the ns in which the users of a mutex are active: the processor time; where they block
    inside the sections, the time in which they do not wait for the mutex."""
    if mutex.holding.total <= figures.cpu_ns:
        return figures.cpu_ns
    return max(mutex.holding.total, figures.users(mutex) * figures.process.duration - mutex.lost)


def tail_latency(figures: ProfileFigures) -> TailLatency:
    """Return the advice on tail latency, from the most costly mutex: in kyotocabinet and upscaledb
    an operation is about one section of it, and only there did the papers find that fair locks
    shorten the tail (TOCS 2019)."""
    if not figures.costly or not figures.cpu_ns:
        text = "No thread waits long enough for a lock to decide how long an operation takes."
        if figures.unhelped:
            text = "Long holds decide how long an operation takes, and no lock does."
        return TailLatency(None, text, ())
    mutex = figures.mutexes[figures.costly[0]]
    if not mutex.holding.count:
        return TailLatency(None, f"How long {mutex.name} is held is not known.", ())
    share = at_least(
        f"time inside sections of {mutex.name}, of the time in which threads are active",
        min(1.0, mutex.holding.total / _active_time(figures, mutex)),
        thresholds.ONE_SECTION,
        "share",
        "most of it",
    )
    evidence = (share, informs("99th percentile of the waits", mutex.waiting.p99, "ns"))
    if share.met and figures.realtime_threads:
        text = (
            f"An operation is mostly one section of {mutex.name}, so the lock decides how long the"
            " slowest take: threads with real-time priorities need one that serves by priority."
        )
    elif share.met:
        text = (
            f"An operation is mostly one section of {mutex.name}, so the lock decides how long the"
            " slowest take: for a short tail use a FIFO lock"
            f" ({'mcs-stp' if figures.crowded else 'ticket, mcs-spin'}), for throughput another."
        )
    else:
        text = (
            "An operation is more than one section: choose the lock for throughput, and the"
            " latency follows."
        )
    return TailLatency(share.met, text, evidence)
