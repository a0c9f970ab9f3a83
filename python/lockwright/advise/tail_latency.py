"""The rule on tail latency (TOCS 2019, section 7.4): whether the lock decides it."""

from lockwright.advise import thresholds
from lockwright.advise.advice import TailLatency
from lockwright.advise.evidence import at_least, informs
from lockwright.advise.seen import Seen
from lockwright.profile.record import Mutex


def _busy(seen: Seen, mutex: Mutex) -> float:
    """Time, in ns, in which the users of a mutex do something: the processor time; where they sleep
    inside the sections, the time in which they do not wait for the mutex."""
    if mutex.holding.total <= seen.cpu:
        return seen.cpu
    return max(mutex.holding.total, seen.users(mutex) * seen.process.duration - mutex.lost)


def tail_latency(seen: Seen) -> TailLatency:
    """Of the mutex that costs most: in kyotocabinet and upscaledb an operation is about one section
    of it, and only there did the papers find that fair locks shorten the tail (TOCS 2019)."""
    if not seen.hot or not seen.cpu:
        text = "Nobody waits long enough for a lock to decide how long an operation takes."
        return TailLatency(None, text, ())
    mutex = seen.mutexes[seen.hot[0]]
    if not mutex.holding.count:
        return TailLatency(None, f"How long {mutex.name} is held is not known.", ())
    share = at_least(
        f"time inside sections of {mutex.name}, of the time in which threads do something",
        min(1.0, mutex.holding.total / _busy(seen, mutex)),
        thresholds.ONE_SECTION,
        "share",
        "most of it",
    )
    evidence = (share, informs("longest wait but for one in a hundred", mutex.waiting.p99, "ns"))
    if share.met and seen.realtime:
        text = (
            f"An operation is mostly one section of {mutex.name}, so the lock decides how long the"
            " slowest take: threads with real-time priorities need one that serves by priority."
        )
    elif share.met:
        text = (
            f"An operation is mostly one section of {mutex.name}, so the lock decides how long the"
            " slowest take: for a short tail a lock that is first come, first served"
            f" ({'mcs-stp' if seen.crowded else 'ticket, mcs-spin'}), for throughput one"
            " that is not."
        )
    else:
        text = (
            "An operation is more than one section: choose the lock for throughput, and the"
            " latency follows."
        )
    return TailLatency(share.met, text, evidence)
