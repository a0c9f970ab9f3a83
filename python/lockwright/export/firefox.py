"""The processed format of the Firefox Profiler (github.com/firefox-devtools/profiler,
docs-developer/CHANGELOG-formats.md), which upgrades files of older versions when it opens them.
"""

import contextlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from lockwright.export.labels import line_of, site_name, site_of, thread_name
from lockwright.profile.frames import Frame
from lockwright.profile.record import Profile, Site, Span

_VERSION = 62
"""Version of the processed format, in which the tables of all threads are shared."""

_RAW_VERSION = 24
"""Version of the format that Firefox itself writes, which a file has to have too."""

_INTERVAL = 1
"""Phase of a marker with a start and an end."""

_CATEGORIES = (("Other", "grey"), ("Waiting", "orange"), ("Holding", "green"))
_WAITING, _HOLDING = 1, 2

_LIBRARY = 1
"""Type of a resource that is a file with code."""


def firefox_json(profile: Profile) -> str:
    """Return a track over the entire run, whose samples are the stacks of waiters weighted by the
    time waited, and one for each thread of the timeline, with markers for its waits and holds."""
    shared = _Shared()
    threads = [_all_waiting(profile, shared), *_threads(profile, shared)]
    document = {
        "meta": _meta(profile),
        "libs": shared.libs,
        "pages": [],
        "counters": [],
        "profilerOverhead": [],
        "shared": shared.tables(),
        "threads": threads,
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _meta(profile: Profile) -> dict[str, Any]:
    began = 0.0
    with contextlib.suppress(ValueError):
        began = datetime.fromisoformat(profile.started).timestamp() * 1e3
    return {
        "preprocessedProfileVersion": _VERSION,
        "version": _RAW_VERSION,
        "product": Path(profile.command[0]).name if profile.command else "profile",
        "importedFrom": "lockwright",
        "startTime": began,
        "interval": 1.0,
        "processType": 0,
        "debug": False,
        "symbolicated": True,
        "sourceCodeIsNotOnSearchfox": True,
        "usesOnlyOneStackType": True,
        "pausedRanges": [],
        "extensions": {"id": [], "name": [], "baseURL": [], "length": 0},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs"},
        "categories": [
            {"name": name, "color": colour, "subcategories": ["Other"]}
            for name, colour in _CATEGORIES
        ],
        "markerSchema": [
            {
                "name": "Mutex",
                "display": ["marker-chart", "marker-table", "timeline-overview"],
                "chartLabel": "{marker.data.mutex}",
                "tooltipLabel": "{marker.name} {marker.data.mutex}",
                "tableLabel": "{marker.data.mutex}: {marker.data.at}",
                "fields": [
                    {"key": "mutex", "label": "Mutex", "format": "unique-string"},
                    {"key": "at", "label": "At", "format": "unique-string"},
                ],
            }
        ],
    }


class _Shared:
    """The tables that all threads refer to: texts, files, functions, frames and stacks."""

    def __init__(self) -> None:
        self.libs: list[dict[str, Any]] = []
        self._texts: dict[str, int] = {}
        self._modules: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._functions: dict[tuple[str, int | None, int | None], int] = {}
        self._frames: dict[tuple[int, int, int | None, int], int] = {}
        self._stacks: dict[tuple[int, int | None], int] = {}

    def text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def stack(self, site: Site | None, mutex: str) -> int:
        """Return the number of a site's stack; the innermost frame is the mutex, as if it were a
        called function."""
        last: int | None = None
        for frame in reversed(site.stack) if site else ():
            last = self._stack(self._source_frame(frame), last)
        function = self._functions.setdefault((mutex, None, None), len(self._functions))
        return self._stack(self._frame(function, -1, None, _WAITING), last)

    def _stack(self, frame: int, prefix: int | None) -> int:
        return self._stacks.setdefault((frame, prefix), len(self._stacks))

    def _source_frame(self, frame: Frame) -> int:
        file, line = line_of(frame.source)
        source = self._files.setdefault(file, len(self._files)) if file else None
        key = (frame.symbol or frame.label, self._module(frame.module), source)
        function = self._functions.setdefault(key, len(self._functions))
        return self._frame(function, frame.offset, line or None, 0)

    def _frame(self, function: int, address: int, line: int | None, category: int) -> int:
        return self._frames.setdefault((function, address, line, category), len(self._frames))

    def _module(self, path: str) -> int | None:
        if not path:
            return None
        if path not in self._modules:
            self._modules[path] = len(self.libs)
            name = Path(path).name
            about = {"name": name, "path": path, "debugName": name, "debugPath": path}
            self.libs.append(about | {"arch": None, "breakpadId": "", "codeId": None})
        return self._modules[path]

    def tables(self) -> dict[str, Any]:
        functions, frames = list(self._functions), list(self._frames)
        names = [self.text(name) for name, _, _ in functions]
        modules = [self.text(Path(path).name) for path in self._modules]
        files = [self.text(file) for file in self._files]
        return {
            "stringArray": list(self._texts),
            "stackTable": _table(
                frame=[frame for frame, _ in self._stacks],
                prefix=[prefix for _, prefix in self._stacks],
            ),
            "frameTable": _table(
                func=[function for function, _, _, _ in frames],
                address=[address for _, address, _, _ in frames],
                line=[line for _, _, line, _ in frames],
                category=[category for _, _, _, category in frames],
                subcategory=[0] * len(frames),
                inlineDepth=[0] * len(frames),
                innerWindowID=[0] * len(frames),
                column=[None] * len(frames),
                nativeSymbol=[None] * len(frames),
            ),
            "funcTable": _table(
                name=names,
                resource=[-1 if module is None else module for _, module, _ in functions],
                source=[source for _, _, source in functions],
                isJS=[False] * len(functions),
                relevantForJS=[False] * len(functions),
                lineNumber=[None] * len(functions),
                columnNumber=[None] * len(functions),
            ),
            "resourceTable": _table(
                lib=list(range(len(modules))),
                name=modules,
                host=[None] * len(modules),
                type=[_LIBRARY] * len(modules),
            ),
            "nativeSymbols": _table(libIndex=[], address=[], name=[], functionSize=[]),
            "sources": _table(
                id=[None] * len(files),
                filename=files,
                startLine=[1] * len(files),
                startColumn=[1] * len(files),
                sourceMapURL=[None] * len(files),
            ),
        }


def _table(**columns: Sequence[Any]) -> dict[str, Any]:
    lengths = {len(column) for column in columns.values()}
    assert len(lengths) == 1
    return {**columns, "length": lengths.pop()}


def _all_waiting(profile: Profile, shared: _Shared) -> dict[str, Any]:
    """Return the track over the entire run. The stacks, which have no times, are spread evenly."""
    stacks = [
        (shared.stack(site, mutex.name), site.waited)
        for mutex in profile.mutexes
        for site in mutex.sites
        if site.waited > 0
    ]
    step = profile.process.duration / max(len(stacks), 1)
    samples = [(index * step, stack, waited) for index, (stack, waited) in enumerate(stacks)]
    return _thread(profile, "all waiting", "all", samples, _markers([], profile, shared), True)


def _threads(profile: Profile, shared: _Shared) -> Iterable[dict[str, Any]]:
    spans: dict[int, list[Span]] = {}
    for span in sorted(profile.timeline, key=lambda span: span.begin):
        spans.setdefault(span.thread, []).append(span)
    for thread, of_thread in sorted(spans.items()):
        samples = []
        for span in of_thread:
            if span.kind == "wait":
                mutex = profile.mutexes[span.mutex]
                stack = shared.stack(site_of(profile, span), mutex.name)
                samples.append((span.begin, stack, span.end - span.begin))
        name = thread_name(profile, thread)
        markers = _markers(of_thread, profile, shared)
        yield _thread(profile, name, str(thread), samples, markers, False)


def _thread(
    profile: Profile,
    name: str,
    number: str,
    samples: Sequence[tuple[float, int, float]],
    markers: dict[str, Any],
    main: bool,
) -> dict[str, Any]:
    """Return the track of a thread. samples: time, stack and weight of each, in ns."""
    times = [time / 1e6 for time, _, _ in samples]
    before = [0.0, *times]
    return {
        "name": name,
        "isMainThread": main,
        "processType": "default",
        "processName": Path(profile.command[0]).name if profile.command else "profile",
        "processStartupTime": 0.0,
        "processShutdownTime": None,
        "registerTime": 0.0,
        "unregisterTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": True,
        "pid": str(profile.pid),
        "tid": number,
        "samples": _table(
            stack=[stack for _, stack, _ in samples],
            timeDeltas=[time - last for time, last in zip(times, before, strict=False)],
            weight=[waited / 1e6 for _, _, waited in samples],
        )
        | {"weightType": "tracing-ms"},
        "markers": markers,
    }


def _markers(spans: Sequence[Span], profile: Profile, shared: _Shared) -> dict[str, Any]:
    waits = [span.kind == "wait" for span in spans]
    return _table(
        name=[shared.text("waits for" if wait else "holds") for wait in waits],
        category=[_WAITING if wait else _HOLDING for wait in waits],
        phase=[_INTERVAL] * len(spans),
        startTime=[span.begin / 1e6 for span in spans],
        endTime=[span.end / 1e6 for span in spans],
        data=[
            {
                "type": "Mutex",
                "mutex": shared.text(profile.mutexes[span.mutex].name),
                "at": shared.text(site_name(profile, span)),
            }
            for span in spans
        ],
    )
