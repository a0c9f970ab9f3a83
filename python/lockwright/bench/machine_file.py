"""The description of this machine for `lockwright simulate`, made of measurements."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

from lockwright.base import files
from lockwright.base.errors import LockwrightError
from lockwright.bench.report import progress
from lockwright.machine.procfs import Tree
from lockwright.machine.provenance import cpu_model
from lockwright.machine.shape import LEVELS, Shape, read
from lockwright.run.bench_program import LIBC, Subject, run
from lockwright.run.tools import Line
from lockwright.stats.spread import Spread, spread

IDLE_US = (10, 100, 1000, 10_000)
"""Microseconds that a processor is idle before a wake."""

BUSY_US = (10, 30, 100, 300, 1000, 3000)
"""Microseconds that a thread has run before a thread is woken on its processor."""

PAIRS = 6
"""Pairs of processors, at most, that are measured at each distance."""

_ACCESSES = {"load": "load", "store": "fenced_store", "rmw": "rmw"}


@dataclass
class Measured:
    """The figures of this machine in nanoseconds, by name, each with its values of all runs."""

    shape: Shape
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, value: object) -> None:
        """Add a value, if there is one."""
        if isinstance(value, (int, float)):
            self.values.setdefault(name, []).append(float(value))

    def spread(self, name: str) -> Spread:
        """Return the median and the quartiles. Raises LockwrightError if nothing was measured."""
        found = spread(self.values.get(name, []))
        if found is None:
            raise LockwrightError(
                f"the machine could not be measured: no run has the figure '{name}'",
                "try it again on a machine that is not busy",
            )
        return found

    def __getitem__(self, name: str) -> float:
        """Return the median."""
        return self.spread(name).median

    def text_of(self, name: str) -> str:
        """Return `load.cache 80.5 ns (quartiles 79.7 to 81.2, 7 runs)`."""
        found = self.spread(name)
        return (
            f"{name} {found.median:.4g} ns (quartiles {found.low:.4g} to {found.high:.4g}, "
            f"{found.count} runs)"
        )


def default_path() -> Path:
    """Return the file that `lockwright simulate --machine here` uses.

    Raises LockwrightError if there is no home directory.
    """
    from lockwright.machine import calibration

    return calibration.default_path().with_name("machine.toml")


def measure(runs: int, timeout: float) -> Measured:
    """Measure this machine, with progress. Raises LockwrightError if a run fails."""
    shape = read(Tree())
    measured = Measured(shape)
    processors = sorted(shape.places)
    first = processors[0]
    pairs = _pairs(shape)
    second = pairs[-1][0] if pairs else first
    two = {"cpu-a": first, "cpu-b": second}
    steps_in_all = runs * (4 + 2 * len(pairs) + len(IDLE_US) + len(BUSY_US))
    with progress("calibrate --machine", steps_in_all) as steps:

        def ask(workload: str, **given: object) -> Line:
            steps.step(workload)
            words = {name.replace("_", "-"): value for name, value in given.items()}
            outcome = run(Subject(LIBC), workload, words, timeout=timeout)
            line = outcome.line("result")
            if line is None or outcome.failure:
                raise LockwrightError(
                    f"'{workload}' could not be measured: {outcome.failure or 'no result'}",
                    "try it again, with a longer --timeout",
                )
            return line

        for _ in range(runs):
            loops = ask("calibrate")["loops_per_us"]
            assert isinstance(loops, (int, float))
            measured.add("clock", 1000 / (4 * float(loops)))
            _add(measured, ask("pause"), pause="pause_ns", turn="turn_ns", clock_read="clock_ns")
            _add(
                measured,
                ask("data"),
                **{name: f"{name}_ns" for name in ("array_read", "memory", "line", "page")},
            )
            kernel = ("failed_wait", "failed_wake", "yield", "yield_round", "membarrier", "slice")
            _add(measured, ask("kernel", **_options(two)), **{n: f"{n}_ns" for n in kernel})
            same = ask("sleep", **_options({"cpu-a": first, "cpu-b": first}))
            _add(measured, same, sleep="sleep_ns", turnaround_here="turnaround_ns")
            for one, other, level in ((a, b, level) for a, b, level in _levels(shape, pairs)):
                line = ask("accesses", cpu_a=one, cpu_b=other)
                for name in ("load_hit", "fenced_store_hit", "rmw_hit"):
                    measured.add(name, line.get(f"{name}_ns"))
                for table, name in _ACCESSES.items():
                    measured.add(f"{table}.{level}", line.get(f"{name}_ns"))
                measured.add("rmw_after_load", line.get("rmw_after_load_ns"))
                measured.add(
                    f"transfer.{level}", ask("transfer", cpu_a=one, cpu_b=other)["median_ns"]
                )
            for idle in IDLE_US:
                naps = min(500, max(5, 100_000 // idle))
                line = ask("sleep", naps=naps, delay_ns=1000 * idle, **_options(two))
                measured.add(f"turnaround {idle} us", line["turnaround_ns"])
                measured.add(f"wake {idle} us", line["wake_ns"])
            for busy in BUSY_US:
                line = ask("preempt", delay_ns=1000 * busy, **_options(two))
                measured.add(f"preempt {busy} us", line["turnaround_ns"])
    return measured


def _options(given: Mapping[str, object]) -> dict[str, object]:
    return {name.replace("-", "_"): value for name, value in given.items()}


def _add(measured: Measured, line: Line, /, **fields: str) -> None:
    for name, of_line in fields.items():
        measured.add(name, line.get(of_line))


def _pairs(shape: Shape) -> list[tuple[int, int]]:
    """Return pairs of processors of each distance, the nearest first; no siblings of a core."""
    by_level: dict[str, list[tuple[int, int]]] = {level: [] for level in LEVELS}
    for pair in combinations(sorted(shape.places), 2):
        by_level[shape.level(*pair)].append(pair)
    found = []
    for level in LEVELS[1:]:
        every = by_level[level]
        found += every[:: max(1, -(-len(every) // PAIRS))]
    return found


def _levels(shape: Shape, pairs: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
    return [(one, other, shape.level(one, other)) for one, other in pairs]


def document(measured: Measured) -> str:
    """Return the machine file. Raises LockwrightError if a figure was not measured."""
    shape = measured.shape
    cycle = measured["clock"]
    table = _Document(measured)
    table.section(
        "shape",
        "/sys, the processors that the measurement was allowed to use",
        packages=shape.packages,
        nodes_per_package=shape.nodes_per_package,
        caches_per_node=shape.caches_per_node,
        cores_per_cache=shape.cores_per_cache,
        threads_per_core=shape.threads_per_core,
    )
    table.measured("clock", ["clock"], "of a chain of multiplications and additions", ghz=1 / cycle)
    table.measured(
        "hit",
        ["load_hit", "rmw_hit"],
        "chases over 128 lines of the own cache; store_cycles: estimate",
        load_cycles=measured["load_hit"] / cycle,
        store_cycles=1,
        rmw_cycles=measured["rmw_hit"] / cycle,
    )
    levels = [level for level in LEVELS[1:] if f"rmw.{level}" in measured.values]
    fenced = measured["fenced_store_hit"] if levels else 0.0
    for name in _ACCESSES:
        less = fenced if name == "store" else 0.0
        costs = {f"{level}_ns": measured[f"{name}.{level}"] - less for level in levels}
        table.measured(
            name,
            [f"{name}.{level}" for level in levels] + (["fenced_store_hit"] if less else []),
            "chases over 128 lines that the other processor has written"
            + ("; of each store with its fence, less the same on own lines" if less else ""),
            **costs,
        )
    memory = measured["memory"]
    far = {
        f"{level}_ns": memory + measured[f"rmw.{level}"] - measured[f"rmw.{levels[0]}"]
        for level in levels
        if level in ("package", "far")
    }
    table.measured(
        "memory", ["memory"], "a chase over 256 MiB; other nodes: estimate", node_ns=memory, **far
    )
    migratory = "rmw_after_load" in measured.values and (
        measured["rmw_after_load"] - measured["rmw_hit"] < measured[f"rmw.{levels[0]}"] / 2
    )
    table.measured(
        "line",
        ["rmw_after_load"] if levels else [],
        "migratory: a load of another processor's modified line brings it for writing if a "
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
    table.measured(
        "wait",
        ["pause", "turn", "clock_read"],
        "the fastest of 100 trials in each run",
        pause_cycles=pause / cycle,
        turn_cycles=measured["turn"] / cycle,
        clock_ns=measured["clock_read"],
    )
    if shape.threads_per_core > 1:
        table.section(
            "smt",
            "estimate: two busy siblings run 0.62 times as fast each",
            busy_share=1.6,
            pausing_share=1.1,
        )
    table.measured(
        "data",
        ["array_read", "line", "page"],
        "cache_ns: reads of random words of 1 MiB; tlb_miss_ns: a chase over 8192 pages less one "
        "over as many lines; cache_mib: /sys; tlb_pages: estimate",
        cache_mib=shape.cache_mib or 32,
        cache_ns=measured["array_read"],
        of_node=shape.caches_per_node == 1,
        tlb_pages=2048,
        tlb_miss_ns=max(0.0, measured["page"] - measured["line"]),
    )
    _kernel(table)
    table.section(
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
    return f'like = "linux-eevdf"\ntitle = {json.dumps(title)}\n' + "".join(table.lines)


def _kernel(table: "_Document") -> None:
    """Adds what the kernel's calls cost, as the simulator composes them."""
    measured = table.from_
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
    patience = [busy for busy in BUSY_US if measured[f"preempt {busy} us"] < _PREEMPTED_NS]
    table.measured(
        "kernel",
        [
            *("sleep", "failed_wake", "yield", "yield_round", "membarrier", "slice"),
            "turnaround_here",
            *(f"wake {first} us", *(f"turnaround {idle} us" for idle in IDLE_US)),
            *(f"preempt {busy} us" for busy in BUSY_US),
        ],
        "switch_ns: half a yield_round less a yield; sleep_ns: sleep less a switch; bucket_ns and "
        "miss_ns: half of a failed_wake each (the division is an estimate); wake_ns: "
        "turnaround_here less a switch; interrupt_ns: what a wake of another, idle processor "
        "takes the caller in addition; interrupt_latency_ns: what it adds to the turnaround; "
        "idle_depth_us and idle_exit_us: the largest step between two turnarounds; "
        "wake_preempts_us: the least time that a thread has run when it gives way to a woken "
        "one; migration_ns: estimate",
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
        slice_us=measured["slice"] / 1000,
        period_us=0,
        wake_preempts_us=min(patience, default=0),
        migration_ns=3000,
    )


_PREEMPTED_NS = 300_000
"""A woken thread that runs after less has preempted the one that ran; slices are longer."""


class _Document:
    """The text of a machine file, section by section."""

    def __init__(self, measured: Measured) -> None:
        """measured: what the sections are made of."""
        self.from_ = measured
        self.lines: list[str] = []

    def measured(self, name: str, names: list[str], how: str, **figures: float) -> None:
        """Adds a section whose source names the figures that were measured."""
        text = "; ".join(self.from_.text_of(each) for each in names)
        self.section(
            name, f"measured by lockwright calibrate: {text or 'nothing'}. {how}", **figures
        )

    def section(self, name: str, source: str, **figures: float) -> None:
        """Adds a section."""
        self.lines += [f"\n[{name}]\n", f"source = {json.dumps(source)}\n"]
        for figure, value in figures.items():
            text = str(value).lower() if isinstance(value, bool) else f"{value:.5g}"
            self.lines.append(f"{figure} = {text}\n")


def write(path: Path, text: str) -> None:
    """Writes the file and its directories. Raises LockwrightError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LockwrightError(
            f"cannot make {path.parent}: {error.strerror}", "choose another file"
        ) from error
    files.write(path, text, "--machine")
