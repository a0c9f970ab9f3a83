"""Bottlenecks 1 to 4: how many threads want a mutex at a time, and how often."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis, Evidence
from lockwright.advise.evidence import above, all_met, at_least, at_most, informs, most_first
from lockwright.advise.seen import Seen
from lockwright.profile.record import Mutex

HIGH = "high contention"
EXTREME = "extreme contention"
TRYLOCK = "trylock contention"
UNCONTENDED = "many uncontended acquisitions"

_BANDS = "10 to 40 waiters of 64 threads are high, more are extreme (TOCS 2019)"
_NOBODY_WAITS = "up to 5 % two locks count as equal (TOCS 2019)"


def level(seen: Seen) -> str:
    """The contention of the hottest mutex: "low", "high" or "extreme"."""
    return "low" if seen.hottest is None else _band(seen, seen.hottest)


def high(seen: Seen) -> Diagnosis:
    """1: part of the threads stand in line."""
    return _contention(seen, "high", HIGH, "avoid light locks and locks that park")


def extreme(seen: Seen) -> Diagnosis:
    """2: most threads stand in line."""
    return _contention(seen, "extreme", EXTREME, "a hierarchical lock")


def _contention(seen: Seen, band: str, title: str, advice: str) -> Diagnosis:
    hottest = None if seen.hottest is None else seen.mutexes[seen.hottest]
    lost = at_least(
        "time lost waiting for it, of the time in which threads ran or waited",
        seen.lost(hottest.lost) if hottest else seen.lost_share,
        thresholds.LOST,
        "share",
        _NOBODY_WAITS,
    )
    shown = hottest or (seen.mutexes[0] if seen.mutexes else None)
    share = seen.in_line(shown) if shown else 0.0
    line: tuple[Evidence, ...]
    quantity = "threads in line at the hottest mutex, of those that could be"
    if band == "high":
        line = (
            at_least(quantity, share, thresholds.HIGH, "share", _BANDS),
            at_most(quantity, share, thresholds.EXTREME, "share", _BANDS),
        )
    else:
        line = (above(quantity, share, thresholds.EXTREME, "share", _BANDS),)
    more = _line_of(seen, shown) if shown else ()
    return Diagnosis(
        key=band,
        title=title,
        fired=level(seen) == band,
        evidence=(lost, *line, *more),
        mutexes=tuple(i for i in seen.hot if _band(seen, i) == band),
        advice=advice,
    )


def _band(seen: Seen, index: int) -> str:
    share = seen.in_line(seen.mutexes[index])
    if share > thresholds.EXTREME:
        return "extreme"
    return "high" if share >= thresholds.HIGH else "low"


def _line_of(seen: Seen, mutex: Mutex) -> tuple[Evidence, ...]:
    return (
        informs("waiters on average", seen.waiters(mutex), "threads"),
        informs("threads that use it at one time", seen.users(mutex), "threads"),
        informs(
            "acquisitions that found it held",
            mutex.contended_share if seen.from_within else None,
            "share",
        ),
        informs(
            "time in which it was held, of the run",
            seen.held(mutex) if seen.from_within else None,
            "share",
        ),
    )


def trylock(seen: Seen) -> Diagnosis:
    """3: threads try in a loop."""

    def rate(mutex: Mutex) -> float:
        return seen.per_cpu_second(mutex.failed_trylocks) or 0.0

    def tries(mutex: Mutex) -> float:
        return mutex.failed_trylocks / max(1.0, mutex.acquisitions)

    concerned = most_first(
        (
            index
            for index, mutex in enumerate(seen.mutexes)
            if tries(mutex) >= thresholds.TRIES_PER_ENTRY and rate(mutex) >= thresholds.FAILED_TRIES
        ),
        lambda index: seen.mutexes[index].failed_trylocks,
    )
    shown = [seen.mutexes[index] for index in concerned] or seen.mutexes
    most = max(shown, key=lambda mutex: mutex.failed_trylocks, default=None)
    evidence = (
        at_least(
            "failed trylocks for each acquisition",
            tries(most) if most else 0.0,
            thresholds.TRIES_PER_ENTRY,
            "",
            "more than one failure for each entry is a loop",
        ),
        at_least(
            "failed trylocks",
            rate(most) if most else 0.0,
            thresholds.FAILED_TRIES,
            "1/cpu s",
            "at 60 to 220 cycles each (TOCS 2019), 1 % of the processor time",
        ),
    )
    advice = "a lock whose trylock takes long enough not to flood it"
    return Diagnosis("trylock", TRYLOCK, bool(concerned), evidence, concerned, advice)


def uncontended(seen: Seen) -> Diagnosis:
    """4: mutexes are taken very often, and are mostly free. One at which threads stand in line is
    none of them, however often the thread that has it takes it again."""
    lines = [
        mutex for i, mutex in enumerate(seen.mutexes) if i in seen.hot and _band(seen, i) != "low"
    ]
    calls = max(0.0, seen.process.lock_calls - sum(mutex.acquisitions for mutex in lines))
    waited = sum(mutex.contended for mutex in seen.mutexes) - sum(each.contended for each in lines)
    evidence = (
        at_least(
            "acquisitions" + (", but of mutexes with a line" if lines else ""),
            seen.per_cpu_second(calls),
            thresholds.ACQUISITIONS,
            "1/cpu s",
            "150 cycles between a light and a heavy lock (TOCS 2019): 5 % of the time",
        ),
        at_least(
            "acquisitions that found the mutex free",
            max(0.0, 1 - waited / calls) if calls else None,
            thresholds.IMMEDIATE,
            "share",
            "the papers say mostly",
        ),
    )
    concerned = most_first(
        (
            index
            for index, mutex in enumerate(seen.mutexes)
            if mutex not in lines
            and mutex.acquisitions >= 0.05 * calls > 0
            and mutex.contended_share <= 0.05
        ),
        lambda index: seen.mutexes[index].acquisitions,
    )
    fired = all_met(evidence)
    return Diagnosis(
        "uncontended", UNCONTENDED, fired, evidence, concerned if fired else (), "a light lock"
    )
