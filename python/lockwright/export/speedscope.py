"""Speedscope's own format (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts)."""

import json
from typing import Any

from lockwright.export.labels import line_of, site_of, thread_name
from lockwright.profile.record import Profile, Site, Span

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_json(profile: Profile) -> str:
    """Return two profiles over all stacks, of time waited and of time held, and one of the waiting
    of each thread of the timeline, in order of time."""
    table = _Table()
    profiles = [
        _sampled(profile, table, "time waited", lambda site: site.waited),
        _sampled(profile, table, "time held (estimated)", lambda site: site.held),
        *_threads(profile, table),
    ]
    document = {
        "$schema": _SCHEMA,
        "exporter": "lockwright",
        "name": " ".join(profile.command) or "profile",
        "activeProfileIndex": 0,
        "shared": {"frames": table.frames},
        "profiles": profiles,
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


class _Table:
    """The frames, which all profiles of the file share."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def stack(self, site: Site | None, mutex: str) -> list[int]:
        """Return the frames of a stack, the outermost first, and the mutex last."""
        frames = reversed(site.stack) if site else ()
        known = [self._number(frame.symbol or frame.label, frame.source) for frame in frames]
        return [*known, self._number(mutex, "")]

    def _number(self, name: str, source: str) -> int:
        key = (name, source)
        if key not in self._numbers:
            self._numbers[key] = len(self.frames)
            file, line = line_of(source)
            self.frames.append(
                {"name": name} | ({"file": file} if file else {}) | ({"line": line} if line else {})
            )
        return self._numbers[key]


def _sampled(profile: Profile, table: _Table, name: str, weight: Any) -> dict[str, Any]:
    samples, weights = [], []
    for mutex in profile.mutexes:
        for site in mutex.sites:
            if weight(site) > 0:
                samples.append(table.stack(site, mutex.name))
                weights.append(weight(site))
    return {
        "type": "sampled",
        "name": name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _threads(profile: Profile, table: _Table) -> list[dict[str, Any]]:
    waits: dict[int, list[Span]] = {}
    for span in sorted(profile.timeline, key=lambda span: span.begin):
        if span.kind == "wait":
            waits.setdefault(span.thread, []).append(span)
    return [
        {
            "type": "evented",
            "name": f"waiting of {thread_name(profile, thread)}",
            "unit": "nanoseconds",
            "startValue": spans[0].begin,
            "endValue": spans[-1].end,
            "events": _events(profile, table, spans),
        }
        for thread, spans in sorted(waits.items())
    ]


def _events(profile: Profile, table: _Table, spans: list[Span]) -> list[dict[str, Any]]:
    """Return the events that open and close the stack of each span; a thread waits for one mutex
    at a time."""
    events: list[dict[str, Any]] = []
    last = 0.0
    for span in spans:
        stack = table.stack(site_of(profile, span), profile.mutexes[span.mutex].name)
        begin = max(span.begin, last)
        last = max(span.end, begin)
        events += [{"type": "O", "at": begin, "frame": frame} for frame in stack]
        events += [{"type": "C", "at": last, "frame": frame} for frame in reversed(stack)]
    return events
