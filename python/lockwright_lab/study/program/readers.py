"""Readers of numbers from the output of programs."""

import json
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.base.numbers import number

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def by_pattern(pattern: str, texts: Sequence[str]) -> list[str]:
    """Return the matches in the first of `texts` that has any: the first group, or the match."""
    for text in texts:
        matches = [m.group(min(1, m.re.groups)) for m in re.finditer(pattern, text, re.MULTILINE)]
        if matches:
            return [group or "" for group in matches]
    return []


def by_path(path: str, text: str) -> list[str]:
    """Return the values at a path such as `jobs[0].read.iops`, in a JSON text or JSON lines."""
    documents = []
    try:
        documents.append(json.loads(text))
    except ValueError:
        for line in text.splitlines():
            try:
                documents.append(json.loads(line))
            except ValueError:
                continue
    values = []
    for document in documents:
        value = _value_at(document, path)
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            values.append(str(value))
    return values


def _value_at(value: Any, path: str) -> Any:
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, list) and step.lstrip("-").isdigit():
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


@dataclass(frozen=True)
class Reader:
    """A reader of one tool's output. find: returns all its values in a text, as strings."""

    unit: str
    better: str
    find: Callable[[str], list[str]]


def _matches(pattern: str) -> Callable[[str], list[str]]:
    return lambda text: by_pattern(pattern, [text])


def _seconds(pattern: str) -> Callable[[str], list[str]]:
    """Return a finder of times with a unit, which it converts to seconds."""

    def find(text: str) -> list[str]:
        return [
            repr(float(value) * _UNITS[unit])
            for value, unit in re.findall(pattern, text, re.MULTILINE)
        ]

    return find


_TIME = r"([\d.]+)\s*(ns|us|µs|ms|s|m)\b"

READERS: Mapping[str, Reader] = {
    "ab": Reader("req/s", "higher", _matches(r"^Requests per second:\s+([\d.]+)")),
    # Of the last benchmark.
    "db_bench": Reader("ops/s", "higher", _matches(r"^\w+\s*:.*?([\d.]+) ops/sec")),
    "db_bench-p99": Reader("us", "lower", _matches(r"^Percentiles:.*?P99: ([\d.]+)")),
    "memaslap": Reader("ops/s", "higher", _matches(r"TPS: (\d+)")),
    # Of the last test.
    "redis-benchmark": Reader("req/s", "higher", _matches(r"([\d.]+) requests per second")),
    "sysbench": Reader(
        "events/s",
        "higher",
        lambda text: (
            by_pattern(r"transactions:.*\(([\d.]+) per sec", [text])
            or by_pattern(r"events per second:\s+([\d.]+)", [text])
            or _events_per_second(text)
        ),
    ),
    "sysbench-p95": Reader("ms", "lower", _matches(r"95th percentile:\s+([\d.]+)")),
    "wrk": Reader("req/s", "higher", _matches(r"^Requests/sec:\s+([\d.]+)")),
    "wrk-p99": Reader("s", "lower", _seconds(rf"^\s+99%\s+{_TIME}")),
    "x264": Reader("fps", "higher", _matches(r"^encoded \d+ frames, ([\d.]+) fps")),
    "ycsb": Reader("ops/s", "higher", _matches(r"^\[OVERALL\], Throughput\(ops/sec\), ([\d.E]+)")),
}
"""The built-in readers, by name."""


def _events_per_second(text: str) -> list[str]:
    events = by_pattern(r"total number of events:\s+(\d+)", [text])
    times = by_pattern(r"total time:\s+([\d.]+)s", [text])
    return [
        repr(int(count) / float(seconds))
        for count, seconds in zip(events, times, strict=False)
        if float(seconds) > 0
    ]


def select_number(values: Sequence[str], skip: int, take: str) -> float | None:
    """Return the result of the values; None if there is none or one is not a number. skip: values
    left out at the start; take: one of the entry's TAKES."""
    numbers = [number(text) for text in values[skip:]]
    good = [text for text in numbers if text is not None]
    if not good or len(good) != len(numbers):
        return None
    match take:
        case "first":
            return good[0]
        case "mean":
            return statistics.fmean(good)
        case "median":
            return statistics.median(good)
        case "max":
            return max(good)
        case "min":
            return min(good)
        case "sum":
            return math.fsum(good)
    return good[-1]
