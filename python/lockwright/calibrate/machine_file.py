"""The description of this machine for `lockwright simulate`, from measurements."""

import json
import math
import time
from itertools import combinations, pairwise, takewhile
from pathlib import Path

from lockwright.base import files
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.probes import Measured, Probe, fields, measure
from lockwright.machine.procfs import Tree
from lockwright.machine.provenance import cpu_model
from lockwright.machine.shape import LEVELS, Shape, read
from lockwright.run.bench_program import subjects
from lockwright.simulate import measurement

IDLE_US = (10, 100, 1000, 10_000)
"""Microseconds that a processor is idle before a wake."""

BUSY_US = (3, 10, 30, 100, 300, 1000, 1600, 2400, 3200, 5000)
"""Microseconds from the moment at which a thread goes to sleep, and another takes its processor,
to its wake. Falling asleep takes some 2 of them."""

PAIRS = 6
"""Pairs of processors, at most, that are measured at each distance."""

_ACCESSES = {"load": "load", "store": "fenced_store", "rmw": "rmw"}

_RMW_WITH_LOADS = "rmw_with_4_loads"

_NULL = "null"
"""The lock without mutual exclusion, whose functions do nothing."""

_CALLS = "null_pair"

_LOOPS = "loops_per_us"
"""A figure that is not a duration: loops of four cycles in a microsecond."""

_DEFAULT_CACHE = 32.0
"""MiB of the last-level cache where /sys has no size: an estimate."""

_MOST_MIB = 256
"""MiB of the largest array, of which each of two processors has one."""

_MISS = 2.0
"""A read of a large array that takes less than this times one of 1 MiB does not miss a cache."""

_LEAST_LOAD = 0.1
"""Cycles of a load that hits, at least: processors begin a few in a cycle."""


def default_path() -> Path:
    """Return the file that `lockwright simulate --machine here` uses.

    Raises LockwrightError if there is no home directory.
    """
    from lockwright.machine import calibration

    return calibration.default_path().with_name("machine.toml")


def probes(shape: Shape) -> list[Probe]:
    """Return the measurements."""
    first = min(shape.places)
    pairs = _pairs(shape)
    two = dict(zip(("cpu-a", "cpu-b"), farthest_pair(shape), strict=True))
    nearest = dict(zip(("cpu-a", "cpu-b"), pairs[0], strict=True)) if pairs else {}
    arrays = [f"read_{mib}_mib" for mib in _arrays(shape)]
    kernel = ("failed_wait", "failed_wake", "yield", "yield_round", "membarrier", "slice")
    made = [
        Probe("calibrate", {}, {_LOOPS: "loops_per_us"}),
        Probe("uncontended", {}, {_CALLS: "min_ns_per_pair"}, subjects(_NULL, None)[1]),
        Probe("pause", {}, {"clock_read": "clock_ns", **fields("pause", "turn")}),
        Probe(
            "data",
            {"most-mib": _largest_array(shape), **nearest},
            fields("array_read", "memory", "line", "page", *arrays),
        ),
        Probe("kernel", two, fields(*kernel)),
        Probe(
            "sleep",
            {"cpu-a": first, "cpu-b": first},
            {"turnaround_here": "turnaround_ns", **fields("sleep")},
        ),
    ]
    for near, far in pairs:
        level, pair = shape.level(near, far), {"cpu-a": near, "cpu-b": far}
        costs = {f"{table}.{level}": f"{name}_ns" for table, name in _ACCESSES.items()}
        hits = fields("fenced_store_hit", "rmw_hit", _RMW_WITH_LOADS, "rmw_after_load")
        made.append(Probe("accesses", pair, costs | hits))
    for idle in IDLE_US:
        naps = {"naps": min(500, max(5, 100_000 // idle)), "delay-ns": 1000 * idle}
        taken = {f"turnaround {idle} us": "turnaround_ns", f"wake {idle} us": "wake_ns"}
        made.append(Probe("sleep", {**naps, **two}, taken))
    for busy in BUSY_US:
        taken = {f"preempt {busy} us": "turnaround_ns"}
        made.append(Probe("preempt", {"delay-ns": 1000 * busy, **two}, taken))
    return made


def farthest_pair(shape: Shape) -> tuple[int, int]:
    """Return two processors with the largest distance; one twice if there is no other."""
    pairs = _pairs(shape)
    first = min(shape.places)
    return pairs[-1] if pairs else (first, first)


def _arrays(shape: Shape) -> list[int]:
    """Return the sizes in MiB of the arrays that are read to find the cache's capacity."""
    return [1 << power for power in range(_largest_array(shape).bit_length())]


def _largest_array(shape: Shape) -> int:
    """Return a power of two: twice the size of the cache, which two processors exceed fourfold, or
    the most that is read; no miss is seen then in a cache that is larger."""
    return min(_MOST_MIB, 1 << math.ceil(math.log2(2 * (shape.cache_mib or _DEFAULT_CACHE))))


def _pairs(shape: Shape) -> list[tuple[int, int]]:
    """Return pairs of processors of each distance, the nearest first; no siblings of a core."""
    by_level: dict[str, list[tuple[int, int]]] = {level: [] for level in LEVELS}
    for pair in combinations(sorted(shape.places), 2):
        by_level[shape.level(*pair)].append(pair)
    sample = []
    for level in LEVELS[1:]:
        pairs = by_level[level]
        sample += pairs[:: max(1, -(-len(pairs) // PAIRS))]
    return sample


def document(shape: Shape, measured: Measured) -> str:
    """Return the machine file. Raises LockwrightError if a figure was not measured."""
    cycle = 250 / measured[_LOOPS]
    text = _Document(shape, measured)
    text.section(
        "shape",
        "/sys, the processors that the measurement may use",
        packages=shape.packages,
        nodes_per_package=shape.nodes_per_package,
        caches_per_node=shape.caches_per_node,
        cores_per_cache=shape.cores_per_cache,
        threads_per_core=shape.threads_per_core,
    )
    text.section(
        "clock",
        f"{measurement.SOURCE}: {measured[_LOOPS]:.4g} loops in a us, a chain of four cycles of "
        "multiplications and additions",
        ghz=1 / cycle,
    )
    text.measured(
        "hit",
        ["rmw_hit", _RMW_WITH_LOADS],
        "chases over 128 lines of the processor's own cache; load_cycles: a quarter of what four "
        f"loads add to a change, at least {_LEAST_LOAD:g}; store_cycles: estimate",
        load_cycles=max(_LEAST_LOAD, (measured[_RMW_WITH_LOADS] - measured["rmw_hit"]) / 4 / cycle),
        store_cycles=1,
        rmw_cycles=measured["rmw_hit"] / cycle,
    )
    text.measured(
        "call",
        [_CALLS],
        "half a pair of calls that do nothing",
        least_ns=measured[_CALLS] / 2,
    )
    levels = [level for level in LEVELS[1:] if f"rmw.{level}" in measured]
    fenced = measured["fenced_store_hit"] if levels else 0.0
    for name in _ACCESSES:
        less = fenced if name == "store" else 0.0
        costs = {f"{level}_ns": measured[f"{name}.{level}"] - less for level in levels}
        text.measured(
            name,
            [f"{name}.{level}" for level in levels] + (["fenced_store_hit"] if less else []),
            "chases over 128 lines that the other processor has written"
            + ("; a store with its fence, less the same on own lines" if less else ""),
            **costs,
        )
    memory = measured["memory"]
    far = {
        f"{level}_ns": memory + measured[f"rmw.{level}"] - measured[f"rmw.{levels[0]}"]
        for level in levels
        if level in ("package", "far")
    }
    text.measured(
        "memory", ["memory"], "a chase over 256 MiB; other nodes: estimate", node_ns=memory, **far
    )
    migratory = "rmw_after_load" in measured and (
        measured["rmw_after_load"] - measured["rmw_hit"] < measured[f"rmw.{levels[0]}"] / 2
    )
    text.measured(
        "line",
        ["rmw_after_load"] if levels else [],
        "migratory: a load of another processor's modified line acquires it for writing if a "
        "read-modify-write after it takes less than half of one without it; others: estimates",
        shared_read_ns=5,
        invalidate_ns=1,
        jitter_share=0.05,
        directory=shape.packages * shape.nodes_per_package > 1,
        nearest_first=0,
        store_buffer=56,
        request_share=0.33,
        migratory=migratory,
    )
    pause = measured["pause"]
    text.measured(
        "wait",
        ["pause", "turn", "clock_read"],
        "the fastest of 100 trials in each run",
        pause_cycles=pause / cycle,
        turn_cycles=measured["turn"] / cycle,
        clock_ns=measured["clock_read"],
    )
    if shape.threads_per_core > 1:
        text.section(
            "smt",
            "estimate: each of two busy siblings runs 0.62 times as fast",
            busy_share=1.6,
            pausing_share=1.1,
        )
    cache_mib, miss = _capacity(shape, measured)
    arrays = [f"read_{mib}_mib" for mib in _arrays(shape)] if levels else []
    text.measured(
        "data",
        ["array_read", *arrays, "line", "page"],
        "cache_ns: reads of random words of 1 MiB; miss_ns: of the largest array; cache_mib: what "
        "two processors read together in less than half of the time from a read of 1 MiB to one of "
        "the largest array, at most the size in /sys; tlb_miss_ns: a chase over 8192 pages less "
        "one over as many lines; tlb_pages: estimate",
        cache_mib=cache_mib,
        miss_ns=miss,
        cache_ns=measured["array_read"],
        of_node=shape.caches_per_node == 1,
        tlb_pages=2048,
        tlb_miss_ns=max(0.0, measured["page"] - measured["line"]),
    )
    _kernel(text)
    text.section(
        "energy",
        "estimates",
        running_watts=5,
        pausing_watts=4,
        idle_watts=1,
        deep_watts=0.3,
        base_watts=50,
    )
    processors = len(shape.places)
    title = f"this machine: {cpu_model()}, {processors} processors, as measured"
    head = f'like = "linux-eevdf"\ntitle = {json.dumps(title)}\n'
    return f"{head}{measurement.KEY} = {measurement.CURRENT}\n" + "".join(text.lines)


def _capacity(shape: Shape, measured: Measured) -> tuple[float, float]:
    """Return the MiB that the processors of a cache can use, and the ns of a read of other data."""
    nominal = shape.cache_mib or _DEFAULT_CACHE
    arrays = _arrays(shape)
    pairs = _pairs(shape)
    if not pairs:
        return nominal, measured["memory"]
    smallest, largest = (measured[f"read_{mib}_mib"] for mib in (arrays[0], arrays[-1]))
    if largest < _MISS * smallest:
        return nominal, measured["memory"]
    half = (smallest + largest) / 2
    fitting = list(takewhile(lambda mib: measured[f"read_{mib}_mib"] < half, arrays))
    sharing = 2 if shape.level(*pairs[0]) == "cache" else 1
    return min(nominal, float(sharing * fitting[-1])), largest


def _kernel(text: "_Document") -> None:
    """Add the costs of the kernel's calls, as the simulator composes them."""
    measured = text.figures
    failed = measured["failed_wake"]
    bucket = failed / 2
    # A round is two yields and two switches.
    switch = max(0.0, measured["yield_round"] / 2 - measured["yield"])
    here = measured["turnaround_here"]
    wake_latency = max(0.0, here - switch - bucket)
    first, *_ = IDLE_US
    idle = measured[f"turnaround {first} us"]
    steps = {
        (low, high): measured[f"turnaround {high} us"] - measured[f"turnaround {low} us"]
        for low, high in pairwise(IDLE_US)
    }
    low, high = max(steps, key=lambda step: steps[step])
    processors = min(8, len(text.shape.places))
    base_slice_us = 700 * (1 + math.floor(math.log2(processors)))
    tick_us = 1e6 * time.clock_getres(_CLOCK_MONOTONIC_COARSE)
    preempted = [busy for busy in BUSY_US if measured[f"preempt {busy} us"] < _PREEMPTED_NS]
    text.measured(
        "kernel",
        [
            *("sleep", "failed_wake", "yield", "yield_round", "membarrier", "slice"),
            "turnaround_here",
            *(f"wake {first} us", *(f"turnaround {idle} us" for idle in IDLE_US)),
            *(f"preempt {busy} us" for busy in BUSY_US),
        ],
        "switch_ns: half a yield_round less a yield; sleep_ns: sleep less a switch; bucket_ns and "
        "miss_ns: half of a failed_wake each (the division is an estimate); wake_ns: "
        "turnaround_here less a switch; interrupt_ns: the additional time of the caller for a "
        "wake of another, idle processor; interrupt_latency_ns: its addition to the turnaround; "
        "idle_depth_us and idle_exit_us: the largest step between two turnarounds; "
        "wake_preempts_us: the least time that a thread has run when a woken one preempts it; "
        "slice_us: sysctl_sched_base_slice, 700 us times 1 + log2 of up to 8 processors "
        "(kernel/sched/fair.c of Linux 6.18), at most the measured slice, which lasts to a tick; "
        "tick_us: the resolution of CLOCK_MONOTONIC_COARSE; "
        "migration_ns: estimate",
        sleep_ns=max(0.0, measured["sleep"] - switch),
        wake_ns=max(0.0, here - switch),
        miss_ns=failed - bucket,
        bucket_ns=bucket,
        wake_latency_ns=wake_latency,
        interrupt_ns=max(0.0, measured[f"wake {first} us"] - bucket - (here - switch)),
        interrupt_latency_ns=max(0.0, idle - here),
        idle_depth_us=(low * high) ** 0.5,
        idle_exit_us=max(0.0, steps[low, high] / 1000),
        switch_ns=switch,
        yield_ns=measured["yield"],
        membarrier_ns=measured["membarrier"],
        slice_us=min(measured["slice"] / 1000, base_slice_us),
        tick_us=tick_us,
        period_us=0,
        wake_preempts_us=min(preempted, default=0),
        migration_ns=3000,
    )


_CLOCK_MONOTONIC_COARSE = 6
"""Of linux/time.h: its resolution is the length of a tick."""

_PREEMPTED_NS = 300_000
"""A woken thread that runs sooner has preempted the running one, since slices are longer."""


class _Document:
    """The text of a machine file, section by section."""

    def __init__(self, shape: Shape, figures: Measured) -> None:
        self.shape, self.figures = shape, figures
        self.lines: list[str] = []

    def measured(self, name: str, names: list[str], how: str, **figures: float) -> None:
        """Add a section whose source names the measured figures."""
        text = "; ".join(self._text_of(each) for each in names)
        self.section(name, f"{measurement.SOURCE}: {text or 'nothing'}. {how}", **figures)

    def _text_of(self, name: str) -> str:
        """Return a text such as `load.cache 80.5 ns (quartiles 79.7 to 81.2, 7 runs)`."""
        figure = self.figures.spread(name)
        quartiles = f"quartiles {figure.low:.4g} to {figure.high:.4g}"
        return f"{name} {figure.median:.4g} ns ({quartiles}, {figure.count} runs)"

    def section(self, name: str, source: str, **figures: float) -> None:
        """Add a section. source: the origin of its figures."""
        self.lines += [f"\n[{name}]\n", f"source = {json.dumps(source)}\n"]
        for figure, value in figures.items():
            text = str(value).lower() if isinstance(value, bool) else f"{value:.5g}"
            self.lines.append(f"{figure} = {text}\n")


def write(path: Path, runs: int, timeout: float) -> None:
    """Measure this machine, and write its file and the directories. timeout: seconds of a run.
    Raises LockwrightError if a run fails, or the file cannot be written."""
    shape = read(Tree())
    text = document(shape, measure(probes(shape), runs, timeout))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LockwrightError(
            f"cannot create {path.parent}: {error.strerror}", "choose another file"
        ) from error
    files.write(path, text, "--machine")
