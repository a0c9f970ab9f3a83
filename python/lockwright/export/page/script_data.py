"""The data of the page's scripts, as JSON values."""

import math
from typing import Any

from lockwright.export.labels import site_name, thread_name
from lockwright.profile.record import Distribution, Mutex, Profile

BINS = 10
"""Bins of a distribution for each power of ten."""

STACKS = 2000
"""Limit on the drawn stacks, those with the most waiting first; a screen shows fewer."""

MOMENTS = 60_000
"""Limit on the drawn moments of the timeline, the longest ones: more make a page slow to open."""

ROWS = 64
"""Limit on the drawn threads of the timeline, those with the most moments."""


def distributions(mutex: Mutex) -> dict[str, Any]:
    """Return the three distributions and the arrivals of a mutex."""
    return {
        "waiting": _distribution(mutex.waiting),
        "holding": _distribution(mutex.holding),
        "handover": _distribution(mutex.hand_over),
        "arrivals": list(mutex.arrivals),
    }


def _distribution(found: Distribution) -> dict[str, Any] | None:
    bins = binned(found.buckets)
    if not bins:
        return None
    whole = sum(bins.values())
    return {
        "bins": [[place, share / whole] for place, share in sorted(bins.items())],
        "p50": found.p50,
        "p99": found.p99,
        "samples": found.samples,
    }


def binned(buckets: tuple[tuple[float, float], ...]) -> dict[int, float]:
    """Return the weight in each of BINS bins for a power of ten, bin 0 beginning at 1 ns.

    A bucket that is wider than a bin is spread evenly over the logarithm of its width.
    """
    bins: dict[int, float] = {}
    for place, (bound, weight) in enumerate(buckets):
        if weight <= 0:
            continue
        low = max(bound, 1.0)
        following = buckets[place + 1][0] if place + 1 < len(buckets) else low
        # Empty buckets are absent: a bucket does not extend over the gap.
        high = following if low < following <= 2 * low else low * 1.01
        begin, end = BINS * math.log10(low), BINS * math.log10(high)
        for each in range(math.floor(begin), math.ceil(end)):
            part = min(end, each + 1) - max(begin, each)
            bins[each] = bins.get(each, 0.0) + weight * part / (end - begin)
    return bins


def stacks(profile: Profile) -> dict[str, Any]:
    """Return the stacks of waiters, the outermost frame first, each with its mutex and the ns
    waited there."""
    names: dict[str, int] = {}
    found = []
    for place, mutex in enumerate(profile.mutexes):
        known = 0.0
        for site in mutex.sites:
            if site.waited > 0:
                frames = [names.setdefault(each.label, len(names)) for each in reversed(site.stack)]
                found.append([place, site.waited, frames])
                known += site.waited
        # The rest of a mutex's waiting has no known site.
        if mutex.lost > 1.01 * known:
            found.append([place, mutex.lost - known, []])
    found.sort(key=lambda each: -each[1])  # type: ignore[operator]
    return {"frames": list(names), "stacks": found[:STACKS], "left": len(found[STACKS:])}


def blocks(profile: Profile) -> list[list[Any]]:
    """Return mutex, holder's place, waiter's place, ns waited, times; "" for an unknown place."""
    found: list[list[Any]] = []
    for place, mutex in enumerate(profile.mutexes):
        found += [
            [
                place,
                mutex.holder(block),
                mutex.waiter(block),
                block.waited,
                block.times,
            ]
            for block in mutex.blocks
            if block.waited > 0
        ]
    found.sort(key=lambda each: -each[3])
    return found[:STACKS]


def timeline(profile: Profile) -> dict[str, Any]:
    """Return the threads, and the moments of each: mutex, 1 for held or 0 for waited, begin, end,
    place."""
    moments = sorted(profile.timeline, key=lambda each: each.begin - each.end)[:MOMENTS]
    of_thread: dict[int, list[Any]] = {}
    names: dict[str, int] = {}
    for moment in sorted(moments, key=lambda each: each.begin):
        where = site_name(profile, moment)
        of_thread.setdefault(moment.thread, []).append(
            [
                moment.mutex,
                int(moment.kind == "hold"),
                round(moment.begin),
                round(moment.end),
                names.setdefault(where, len(names)),
            ]
        )
    busiest = sorted(of_thread, key=lambda each: -len(of_thread[each]))[:ROWS]
    return {
        "threads": [
            {
                "name": thread_name(profile, each),
                "moments": of_thread[each],
            }
            for each in sorted(busiest)
        ],
        "places": list(names),
        "left": len(profile.timeline) - len(moments),
        "threadsLeft": len(of_thread) - len(busiest),
    }
