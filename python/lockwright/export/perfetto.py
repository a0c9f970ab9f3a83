"""Trace events in JSON, which Perfetto and chrome://tracing open (the "Trace Event Format")."""

import json
import math
from collections.abc import Iterable
from typing import Any

from lockwright.export.labels import site_name, thread_name
from lockwright.profile.record import Moment, Profile

_COUNTED = 5
"""Mutexes whose number of waiters is drawn as a line."""

_LANES = 16
"""Numbers set apart for each thread: what overlaps without being nested goes to another track."""


def perfetto_json(profile: Profile) -> str:
    """Return a track for each thread with its waiting and holding, and one for the waiters of a
    mutex."""
    threads: dict[int, list[Moment]] = {}
    for moment in profile.timeline:
        threads.setdefault(moment.thread, []).append(moment)
    name = " ".join(profile.command) or "profile"
    events = [_name_event(profile, "process_name", 0, name)]
    for thread, moments in sorted(threads.items()):
        for lane, nested in enumerate(lanes(moments)):
            track = thread * _LANES + min(lane, _LANES - 1) + 1
            of = thread_name(profile, thread)
            said = of if lane == 0 else f"{of}, overlapping"
            events.append(_name_event(profile, "thread_name", track, said))
            events += (_slice(profile, moment, track) for moment in nested)
    events += _waiters(profile)
    whole = {
        "displayTimeUnit": "ns",
        "otherData": {"exporter": "lockwright", "started": profile.started},
        "traceEvents": events,
    }
    return json.dumps(whole, allow_nan=False, separators=(",", ":"))


def lanes(moments: Iterable[Moment]) -> list[list[Moment]]:
    """Moments of one thread, so that in each list any two are apart or one within the other.

    A thread may release mutexes in another order than it took them.
    """
    found: list[list[Moment]] = []
    open_in: list[list[Moment]] = []
    for moment in sorted(moments, key=lambda each: (each.begin, -each.end)):
        for lane, still in zip(found, open_in, strict=True):
            while still and still[-1].end <= moment.begin:
                still.pop()
            if not still or moment.end <= still[-1].end:
                lane.append(moment)
                still.append(moment)
                break
        else:
            found.append([moment])
            open_in.append([moment])
    return found


def _name_event(profile: Profile, what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": profile.pid, "tid": track, "args": {"name": name}}


def _slice(profile: Profile, moment: Moment, track: int) -> dict[str, Any]:
    mutex = profile.mutexes[moment.mutex].name
    site = site_name(profile, moment)
    begin, end = _microseconds(moment.begin), _microseconds(moment.end)
    length = end - begin
    # A reader adds the two up, and must not come out behind what begins there.
    while begin + length > end:
        length = math.nextafter(length, 0)
    return {
        "ph": "X",
        "cat": moment.kind,
        "name": f"{'waits for' if moment.kind == 'wait' else 'holds'} {mutex}",
        "ts": begin,
        "dur": length,
        "pid": profile.pid,
        "tid": track,
        "args": {"mutex": mutex} | ({"at": site} if site else {}),
    }


def _microseconds(ns: float) -> float:
    """To the nanosecond, which is as fine as a reader's clock."""
    return round(ns) / 1e3


def _waiters(profile: Profile) -> list[dict[str, Any]]:
    """Return how many waited, at each time at which that changed."""
    changes: dict[int, dict[float, int]] = {}
    for moment in profile.timeline:
        if moment.kind == "wait" and moment.mutex < _COUNTED:
            of = changes.setdefault(moment.mutex, {})
            of[moment.begin] = of.get(moment.begin, 0) + 1
            of[moment.end] = of.get(moment.end, 0) - 1
    events = []
    for mutex, of in sorted(changes.items()):
        waiting = 0
        for when, change in sorted(of.items()):
            waiting += change
            events.append(
                {
                    "ph": "C",
                    "name": f"waiters of {profile.mutexes[mutex].name}",
                    "ts": _microseconds(when),
                    "pid": profile.pid,
                    "args": {"waiters": waiting},
                }
            )
    return events
