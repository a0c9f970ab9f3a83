"""Trace events in JSON, which Perfetto and chrome://tracing open (the "Trace Event Format")."""

import json
import math
from collections.abc import Iterable
from typing import Any

from lockwright.export.labels import site_name, thread_name
from lockwright.profile.record import Profile, Span

_COUNTED = 5
"""Number of mutexes whose number of waiters is drawn as a line."""

_LANES = 16
"""Track numbers reserved for each thread: spans that overlap without nesting are on separate
tracks."""


def perfetto_json(profile: Profile) -> str:
    """Return a track for each thread with its waits and holds, and one for the waiters of each of
    the first mutexes."""
    threads: dict[int, list[Span]] = {}
    for span in profile.timeline:
        threads.setdefault(span.thread, []).append(span)
    name = " ".join(profile.command) or "profile"
    events = [_name_event(profile, "process_name", 0, name)]
    for thread, spans in sorted(threads.items()):
        for lane, nested in enumerate(lanes(spans)):
            track = thread * _LANES + min(lane, _LANES - 1) + 1
            thread_label = thread_name(profile, thread)
            track_label = thread_label if lane == 0 else f"{thread_label}, overlapping"
            events.append(_name_event(profile, "thread_name", track, track_label))
            events += (_slice(profile, span, track) for span in nested)
    events += _waiters(profile)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"exporter": "lockwright", "started": profile.started},
        "traceEvents": events,
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def lanes(spans: Iterable[Span]) -> list[list[Span]]:
    """Return the spans of one thread in lists, within which any two are disjoint or nested, since
    a thread may release mutexes in another order than it took them."""
    tracks: list[list[Span]] = []
    open_in: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        for lane, unfinished in zip(tracks, open_in, strict=True):
            while unfinished and unfinished[-1].end <= span.begin:
                unfinished.pop()
            if not unfinished or span.end <= unfinished[-1].end:
                lane.append(span)
                unfinished.append(span)
                break
        else:
            tracks.append([span])
            open_in.append([span])
    return tracks


def _name_event(profile: Profile, what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": profile.pid, "tid": track, "args": {"name": name}}


def _slice(profile: Profile, span: Span, track: int) -> dict[str, Any]:
    mutex = profile.mutexes[span.mutex].name
    site = site_name(profile, span)
    begin, end = _microseconds(span.begin), _microseconds(span.end)
    length = end - begin
    # A reader adds both; the sum must not exceed the start of the next span.
    while begin + length > end:
        length = math.nextafter(length, 0)
    return {
        "ph": "X",
        "cat": span.kind,
        "name": f"{'waits for' if span.kind == 'wait' else 'holds'} {mutex}",
        "ts": begin,
        "dur": length,
        "pid": profile.pid,
        "tid": track,
        "args": {"mutex": mutex} | ({"at": site} if site else {}),
    }


def _microseconds(ns: float) -> float:
    """Return microseconds, rounded to the resolution of a reader's clock, a nanosecond."""
    return round(ns) / 1e3


def _waiters(profile: Profile) -> list[dict[str, Any]]:
    """Return the number of waiters at each time at which it changed."""
    changes: dict[int, dict[float, int]] = {}
    for span in profile.timeline:
        if span.kind == "wait" and span.mutex < _COUNTED:
            steps = changes.setdefault(span.mutex, {})
            steps[span.begin] = steps.get(span.begin, 0) + 1
            steps[span.end] = steps.get(span.end, 0) - 1
    events = []
    for mutex, steps in sorted(changes.items()):
        waiting = 0
        for time, change in sorted(steps.items()):
            waiting += change
            events.append(
                {
                    "ph": "C",
                    "name": f"waiters of {profile.mutexes[mutex].name}",
                    "ts": _microseconds(time),
                    "pid": profile.pid,
                    "args": {"waiters": waiting},
                }
            )
    return events
