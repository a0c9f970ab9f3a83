"""Waits as text in the Prometheus exposition format, version 0.0.4.

The total is named as Go's go_sync_mutex_wait_total_seconds_total; the histogram's name and unit
follow OpenTelemetry's conventions for durations.

prometheus_client does not serve this page. The waits are counted by other processes, which no
metric of that library can hold, so only its writer of this text (three short functions below) would
be used. Its server, as Debian 12 has it (0.16), returns neither itself nor its port: it cannot
listen on a free port, end with the process of --pid, or answer 503 when that has ended.
"""

from collections import defaultdict
from collections.abc import Mapping

from lockwright.metrics import segment
from lockwright.metrics.call_sites import CallSites
from lockwright.metrics.segment import Segment, Segments

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

INFO = "lockwright_process_info"
TOTAL = "lockwright_mutex_wait_total_seconds_total"
DURATION = "lockwright_mutex_wait_duration_seconds"
UNREADABLE = "lockwright_unreadable_processes"


def text_of(segments: Segments, call_sites: CallSites) -> str:
    """Return the metrics of these processes. The call sites of a process that have one name are
    added up, since a series may occur once only."""
    lines = _head(INFO, "gauge", "A process that counts its waits, with the lock of its mutexes.")
    lines += [_sample(INFO, {**_labels(each), "lock": each.lock}, 1) for each in segments.read]
    lines += _head(TOTAL, "counter", "Seconds that the threads of a process waited for mutexes.")
    lines += [
        _sample(TOTAL, _labels(each), sum(site.waited for site in each.sites) / 1e9)
        for each in segments.read
    ]
    lines += _head(DURATION, "histogram", "Durations of the waits for mutexes, by call site.")
    limits = [*map(repr, segment.bounds()), "+Inf"]
    for each in segments.read:
        lines += _histograms(each, call_sites.names(each), limits)
    call_sites.forget_others(segments.read)
    lines += _head(UNREADABLE, "gauge", "Processes whose waits may not be read.")
    lines.append(_sample(UNREADABLE, {}, segments.unreadable))
    return "\n".join(lines) + "\n"


def _labels(process: Segment) -> dict[str, str]:
    return {"pid": str(process.pid), "program": process.program}


def _histograms(process: Segment, names: Mapping[int, str], limits: list[str]) -> list[str]:
    waits: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(limits))
    waited: defaultdict[str, int] = defaultdict(int)
    for site in process.sites:
        name = names[site.caller]
        waits[name] = [sum(pair) for pair in zip(waits[name], site.waits, strict=True)]
        waited[name] += site.waited
    lines = []
    for name in sorted(waits):
        labels = {**_labels(process), "site": name}
        total = 0
        for limit, number in zip(limits, waits[name], strict=True):
            total += number
            lines.append(_sample(f"{DURATION}_bucket", {**labels, "le": limit}, total))
        lines.append(_sample(f"{DURATION}_sum", labels, waited[name] / 1e9))
        lines.append(_sample(f"{DURATION}_count", labels, total))
    return lines


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{pairs}}} {value}" if pairs else f"{name} {value}"


def _escaped(text: str) -> str:
    printable = text.encode("utf-8", "replace").decode()
    return printable.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
