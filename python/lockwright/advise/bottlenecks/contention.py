"""Bottlenecks 1 to 4: the number of threads that contend for a mutex, and their acquisitions."""

from lockwright.advise import thresholds
from lockwright.advise.advice import Diagnosis, Evidence
from lockwright.advise.evidence import above, all_met, at_least, at_most, informs, most_first
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.profile.record import Mutex
from lockwright.profile.time_lost import OF_WHICH_TIME

HIGH = "high contention"
EXTREME = "extreme contention"
TRYLOCK = "trylock contention"
UNCONTENDED = "many uncontended acquisitions"

_BANDS = "10 to 40 waiters of 64 threads are high, more are extreme (TOCS 2019)"
_EQUAL_LOCKS = "up to 5 % two locks count as equal (TOCS 2019)"


def level(figures: ProfileFigures) -> str:
    """Return the contention of the most contended mutex: "low", "high" or "extreme"."""
    return "low" if figures.most_contended is None else _band(figures, figures.most_contended)


def high(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 1: a part of the threads waits for a mutex."""
    return _contention(figures, "high", HIGH, "avoid light locks and locks that park")


def extreme(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 2: most threads wait for a mutex."""
    return _contention(figures, "extreme", EXTREME, "a hierarchical lock")


def _contention(figures: ProfileFigures, band: str, title: str, advice: str) -> Diagnosis:
    worst = None if figures.most_contended is None else figures.mutexes[figures.most_contended]
    lost = at_least(
        f"time lost waiting for it, {OF_WHICH_TIME}",
        figures.lost_share_of(worst.lost) if worst else figures.lost_share,
        thresholds.LOST,
        "share",
        _EQUAL_LOCKS,
    )
    mutex = worst or (figures.mutexes[figures.helped[0]] if figures.helped else None)
    share = figures.waiting_share(mutex) if mutex else 0.0
    band_evidence: tuple[Evidence, ...]
    quantity = "threads that wait for the most contended mutex, of those that could"
    if band == "high":
        band_evidence = (
            at_least(quantity, share, thresholds.HIGH, "share", _BANDS),
            at_most(quantity, share, thresholds.EXTREME, "share", _BANDS),
        )
    else:
        band_evidence = (above(quantity, share, thresholds.EXTREME, "share", _BANDS),)
    use_of_mutex = _use_of_mutex(figures, mutex) if mutex else ()
    return Diagnosis(
        key=band,
        title=title,
        fired=level(figures) == band,
        evidence=(lost, *band_evidence, *use_of_mutex),
        mutexes=tuple(i for i in figures.costly if _band(figures, i) == band),
        advice=advice,
    )


def _band(figures: ProfileFigures, index: int) -> str:
    share = figures.waiting_share(figures.mutexes[index])
    if share > thresholds.EXTREME:
        return "extreme"
    return "high" if share >= thresholds.HIGH else "low"


def _use_of_mutex(figures: ProfileFigures, mutex: Mutex) -> tuple[Evidence, ...]:
    return (
        informs("waiters on average", figures.waiters(mutex), "threads"),
        informs("threads that use it at one time", figures.users(mutex), "threads"),
        informs(
            "acquisitions that found it held",
            mutex.contended_share if figures.is_preloaded else None,
            "share",
        ),
        informs(
            "time in which it was held, of the run",
            figures.held_share(mutex) if figures.is_preloaded else None,
            "share",
        ),
    )


def trylock(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 3: threads call trylock in a loop."""

    def rate(mutex: Mutex) -> float:
        return figures.per_cpu_second(mutex.failed_trylocks) or 0.0

    def tries(mutex: Mutex) -> float:
        return mutex.failed_trylocks / max(1.0, mutex.acquisitions)

    affected = most_first(
        (
            index
            for index, mutex in enumerate(figures.mutexes)
            if tries(mutex) >= thresholds.TRIES_PER_ENTRY and rate(mutex) >= thresholds.FAILED_TRIES
        ),
        lambda index: figures.mutexes[index].failed_trylocks,
    )
    candidates = [figures.mutexes[index] for index in affected] or figures.mutexes
    most = max(candidates, key=lambda mutex: mutex.failed_trylocks, default=None)
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
    advice = "a lock with a hardened trylock"
    return Diagnosis("trylock", TRYLOCK, bool(affected), evidence, affected, advice)


def uncontended(figures: ProfileFigures) -> Diagnosis:
    """Diagnose bottleneck 4: threads acquire mutexes very often, and mostly find them free. A
    contended mutex does not count, however often its last holder acquires it again."""
    contended = [
        mutex
        for i, mutex in enumerate(figures.mutexes)
        if i in figures.costly and _band(figures, i) != "low"
    ]
    calls = max(0.0, figures.process.lock_calls - sum(mutex.acquisitions for mutex in contended))
    waited = sum(mutex.contended for mutex in figures.mutexes if mutex not in contended)
    evidence = (
        at_least(
            "acquisitions" + (", but of contended mutexes" if contended else ""),
            figures.per_cpu_second(calls),
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
    affected = most_first(
        (
            index
            for index, mutex in enumerate(figures.mutexes)
            if mutex not in contended
            and mutex.acquisitions >= 0.05 * calls > 0
            and mutex.contended_share <= 0.05
        ),
        lambda index: figures.mutexes[index].acquisitions,
    )
    fired = all_met(evidence)
    return Diagnosis(
        "uncontended", UNCONTENDED, fired, evidence, affected if fired else (), "a light lock"
    )
