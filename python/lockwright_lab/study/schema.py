"""Names of the columns of a data set, and the metrics with their units and directions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

MACHINE, APPLICATION, LOCK, VARIANT = "machine", "application", "lock", "variant"
NODES, THREADS, RUN, OUTCOME = "nodes", "threads", "run", "outcome"

MOST = 1e60
"""Limit of figures, which are multiplied and squared; their least is its reciprocal."""

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    MACHINE: ("machine", "host", "hostname", "system"),
    APPLICATION: ("application", "app", "bench", "benchmark", "program", "workload"),
    LOCK: ("lock", "strategy", "algorithm", "mutex"),
    NODES: ("nodes", "node", "numa_nodes", "numa_node"),
    THREADS: ("threads", "thread", "thread_count", "nthreads", "cores"),
    RUN: ("run", "repetition", "rep", "round", "iteration", "trial"),
    VARIANT: ("variant", "type"),
    OUTCOME: ("outcome",),
}
"""Columns that identify a run, and the accepted spellings."""

MANUAL, INTERPOSED = "manual", "interposed"

VARIANTS = {
    "": "",
    "manual": MANUAL,
    "native": MANUAL,
    "interposed": INTERPOSED,
    "litl": INTERPOSED,
    "lockwright": INTERPOSED,
    "preload": INTERPOSED,
}
"""The variants of a run: the lock is in the program's source, or interposed."""

FINISHED = ("", "finished", "ok", "success", "0")
"""Outcomes of runs whose figures count; the figures of others are ignored and may be empty."""

HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Metric:
    """A measured quantity. `better` is HIGHER or LOWER; `units` are factors to `unit`."""

    name: str
    better: str
    unit: str
    spellings: tuple[str, ...]
    units: Mapping[str, float]


_PER_SECOND = {"1/s": 1.0, "ops/s": 1.0, "op/s": 1.0, "req/s": 1.0, "requests/s": 1.0, "hz": 1.0}
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "throughput",
            HIGHER,
            "1/s",
            # One published data set has this misspelling.
            ("throughput", "throughout"),
            _PER_SECOND | {"kops/s": 1e3, "mops/s": 1e6},
        ),
        Metric("time", LOWER, "s", ("time", "seconds", "wall_time", "duration"), _SECONDS),
        Metric(
            "latency",
            LOWER,
            "ns",
            ("latency", "tail_latency", "p99", "p99_latency"),
            {unit: factor * 1e9 for unit, factor in _SECONDS.items()},
        ),
        Metric(
            "tpp",
            HIGHER,
            "1/J",
            ("tpp", "energy_efficiency", "ops_per_joule"),
            {"1/j": 1.0, "ops/j": 1.0, "op/j": 1.0, "kops/j": 1e3},
        ),
        Metric("power", LOWER, "W", ("power", "watts"), {"w": 1.0, "mw": 1e-3}),
        Metric("energy", LOWER, "J", ("energy", "joules"), {"j": 1.0, "mj": 1e-3, "kj": 1e3}),
    )
}
"""The metrics that are known by name; TPP is throughput / power (TOCS 2019)."""

# No bracket in the unit: a heading of many brackets would be searched in quadratic time.
_UNIT = re.compile(r"^(?P<name>.*?)[(\[](?P<unit>[^()\[\]]*)[)\]]$")


def split_unit(heading: str) -> tuple[str, str]:
    """Return name and unit of a column heading such as `latency (us)`; '' for no unit."""
    match = _UNIT.match(heading.strip())
    name, unit = (match["name"], match["unit"]) if match else (heading, "")
    return re.sub(r"[\s-]+", "_", name.strip().lower()), unit.strip().lower()


def dimension_of(heading: str) -> str | None:
    """Return the dimension that a column heading names, if any."""
    name, _ = split_unit(heading)
    return next((key for key, spellings in DIMENSIONS.items() if name in spellings), None)


def metric_of(heading: str) -> Metric | None:
    """Return the known metric that a column heading names, if any, also as `latency_us`."""
    name, _ = split_unit(heading)
    for metric in METRICS.values():
        stem, _, end = name.rpartition("_")
        if name in metric.spellings or (stem in metric.spellings and end in metric.units):
            return metric
    return None


def unit_of(heading: str) -> str:
    """Return the unit that a heading of a known metric names, in small letters; '' for none."""
    name, unit = split_unit(heading)
    metric = metric_of(heading)
    if unit or metric is None or name in metric.spellings:
        return unit
    return name.rpartition("_")[2]
