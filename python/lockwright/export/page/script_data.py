"""The data for the page's scripts, as JSON values."""

import math
from typing import Any

from lockwright.export.labels import site_name, thread_name
from lockwright.profile.record import Distribution, Mutex, Profile

BINS = 10
"""Number of a distribution's bins for each power of ten."""

STACKS = 2000
"""Limit on the drawn stacks, those with the most waiting."""

SPANS = 60_000
"""Limit on the drawn spans of the timeline, the longest: more make a page slow to open."""

ROWS = 64
"""Limit on the drawn threads of the timeline, those with the most spans."""


def distributions(mutex: Mutex) -> dict[str, Any]:
    """Return the three distributions and the arrivals of a mutex."""
    return {
        "waiting": _distribution(mutex.waiting),
        "holding": _distribution(mutex.holding),
        "handover": _distribution(mutex.hand_over),
        "arrivals": list(mutex.arrivals),
    }


def _distribution(durations: Distribution) -> dict[str, Any] | None:
    bins = binned(durations.buckets, durations.most)
    if not bins:
        return None
    total = sum(bins.values())
    return {
        "bins": [[bin, share / total] for bin, share in sorted(bins.items())],
        "p50": durations.p50,
        "p99": durations.p99,
        "samples": durations.samples,
    }


def binned(buckets: tuple[tuple[float, float], ...], most: float = 0.0) -> dict[int, float]:
    """Return the weight in each of BINS bins for a power of ten, bin 0 beginning at 1 ns. A bucket
    in several bins is spread evenly over the logarithm of its width. most: the end of the last
    one."""
    bins: dict[int, float] = {}
    for index, (bound, weight) in enumerate(buckets):
        if weight <= 0:
            continue
        low = max(bound, 1.0)
        following = buckets[index + 1][0] if index + 1 < len(buckets) else most
        # Empty buckets are absent: a bucket does not extend over the gap.
        high = following if low < following <= 2 * low else low * 1.01
        begin, end = BINS * math.log10(low), BINS * math.log10(high)
        for bin in range(math.floor(begin), math.ceil(end)):
            part = min(end, bin + 1) - max(begin, bin)
            bins[bin] = bins.get(bin, 0.0) + weight * part / (end - begin)
    return bins


def stacks(profile: Profile) -> dict[str, Any]:
    """Return the stacks of waiters, the outermost frame first, each with its mutex and the ns
    waited there."""
    names: dict[str, int] = {}
    rows = []
    for index, mutex in enumerate(profile.mutexes):
        known = 0.0
        for site in mutex.sites:
            if site.waited > 0:
                labels = [frame.label for frame in reversed(site.stack)]
                frames = [names.setdefault(label, len(names)) for label in labels]
                rows.append([index, site.waited, frames])
                known += site.waited
        # The rest of a mutex's waiting has no known site.
        if mutex.lost > 1.01 * known:
            rows.append([index, mutex.lost - known, []])
    rows.sort(key=lambda row: -row[1])  # type: ignore[operator]
    return {"frames": list(names), "stacks": rows[:STACKS], "left": len(rows[STACKS:])}


def blocks(profile: Profile) -> list[list[Any]]:
    """Return lists of mutex, holder's site, waiter's site, ns waited and number of waits, the
    longest first; "" for an unknown site."""
    edges: list[list[Any]] = [
        [index, mutex.holder(block), mutex.waiter(block), block.waited, block.times]
        for index, mutex in enumerate(profile.mutexes)
        for block in mutex.blocks
        if block.waited > 0
    ]
    return sorted(edges, key=lambda edge: -edge[3])[:STACKS]


def timeline(profile: Profile) -> dict[str, Any]:
    """Return the threads with spans of mutex, 1 for held or 0 for waited, begin, end, site."""
    spans = sorted(profile.timeline, key=lambda span: span.begin - span.end)[:SPANS]
    of_thread: dict[int, list[Any]] = {}
    names: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: span.begin):
        site = site_name(profile, span)
        of_thread.setdefault(span.thread, []).append(
            [
                span.mutex,
                int(span.kind == "hold"),
                round(span.begin),
                round(span.end),
                names.setdefault(site, len(names)),
            ]
        )
    busiest = sorted(of_thread, key=lambda thread: -len(of_thread[thread]))[:ROWS]
    return {
        "threads": [
            {"name": thread_name(profile, thread), "spans": of_thread[thread]}
            for thread in sorted(busiest)
        ],
        "places": list(names),
        "left": len(profile.timeline) - len(spans),
        "threadsLeft": len(of_thread) - len(busiest),
    }
