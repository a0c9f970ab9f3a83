"""The durations of this machine that matter for locks, and the settings derived from them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from rich.table import Table

from lockwright.calibrate.report import Column, Report, empty_table, progress, watching_others
from lockwright.machine.calibration import EVERY_LOCK
from lockwright.run.bench_program import LIBC, Subject, number, run
from lockwright.stats.spread import Spread, format_spread, spread

DELAYS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Nanoseconds parked before the wake: a processor that was idle longer takes longer to wake."""

PAIRS = 12
"""Most pairs of processors between which a cache line is transferred, a sample of all pairs."""

COLUMNS = [
    Column("measured", "the name of the duration."),
    Column("ns", "nanoseconds: the median of a run; median over the rounds."),
    Column("meaning", "the definition of the duration."),
]

SETTINGS = [
    Column("number", "the tunable, of every lock that has one of that name, or of one lock."),
    Column("value", "its value."),
    Column("from", "its derivation from the durations."),
]


def turnaround(delay: int) -> str:
    """Return the name of the measurement with that many nanoseconds parked."""
    return f"turnaround {delay // 1000} us"


MEANINGS = {
    "pause": "one pause instruction of a polling loop",
    "turn": "one iteration of the empty loop that counts delays",
    "clock": "one read of the clock",
    "transfer": "the transfer of a cache line between two processors, the slowest pair",
    "switch": "two threads of one processor wake each other and sleep: the round trip",
    "sleep": "from the call to sleep until another thread of that processor runs",
    "wake": "the call that wakes a thread of another processor",
    **{
        turnaround(delay): f"from that call until the thread runs, asleep for {delay // 1000} us"
        for delay in DELAYS
    },
}


def _asleep(medians: Mapping[str, float]) -> float:
    return medians["sleep"] + medians[turnaround(DELAYS[0])]


def _grace(medians: Mapping[str, float]) -> float:
    return 3 * medians["transfer"] + medians["pause"]


@dataclass(frozen=True)
class Rule:
    """A rule that derives a tunable of some locks from measurements."""

    locks: tuple[str, ...]
    name: str
    value: Callable[[Mapping[str, float]], float]
    derivation: str


_MUTEXEE = ("mutexee", "mutexee-timeout")

RULES = [
    Rule(
        (EVERY_LOCK,),
        "spin-ns",
        _asleep,
        "sleep + turnaround: a waiter that polls for the cost of a sleep and then parks loses at "
        "most twice the least possible",
    ),
    Rule(
        _MUTEXEE,
        "spin-ns",
        _asleep,
        "the same; the authors' 8000 cycles on their machine",
    ),
    Rule(
        _MUTEXEE,
        "grace-ns",
        _grace,
        "3 transfers + a pause: a polling waiter reads the lock as free, acquires it, and the "
        "releasing thread reads that",
    ),
    Rule(
        _MUTEXEE, "spin-mutex-mode-ns", lambda medians: 2 * _grace(medians) / 3, "2/3 of grace-ns"
    ),
    Rule(_MUTEXEE, "grace-mutex-mode-ns", lambda medians: _grace(medians) / 3, "1/3 of grace-ns"),
]
"""The fractions of MUTEXEE are those of its authors' cycles: 384, 256 and 128."""

DEFAULTS_REMARK = (
    "All other tunables keep their defaults, also the batch of a NUMA node: it weighs throughput "
    "against fairness, which no measurement decides."
)


def _pairs(processors: list[int]) -> list[tuple[int, int]]:
    every = list(combinations(processors, 2))
    step = max(1, -(-len(every) // PAIRS))
    return every[::step]


def measure(report: Report, rounds: int, timeout: float) -> tuple[dict[str, Spread], list[Table]]:
    """Fill `report`; return the figures by the names of MEANINGS, and a table of them.

    With one processor only, there is no transfer and all sleeps and wakes are on that one.
    """
    allowed = sorted(os.sched_getaffinity(0))
    alone = {"cpu-a": allowed[0], "cpu-b": allowed[0]}
    apart = {"cpu-a": allowed[0], "cpu-b": allowed[min(1, len(allowed) - 1)]}
    pairs = _pairs(allowed)
    medians: dict[str, list[float]] = {name: [] for name in MEANINGS}
    steps_in_all = rounds * (3 + len(pairs) + len(DELAYS))
    with watching_others(report), progress("calibrate", steps_in_all) as steps:

        def run_figures(
            round_number: int, workload: str, options: Mapping[str, object], *names: str
        ) -> list[float]:
            """Return the figures of those names from one run; none if it failed."""
            steps.step(workload)
            outcome = run(Subject(LIBC), workload, options, timeout=timeout)
            report.record(Subject(LIBC), round_number, outcome, workload=workload, **options)
            line = outcome.line("result")
            return [number(line, name) for name in names] if line and not outcome.failure else []

        for round_number in range(rounds):
            figures_of = partial(run_figures, round_number)
            parts = ("pause", "turn", "clock")
            part_figures = figures_of("pause", {}, *(f"{part}_ns" for part in parts))
            for name, value in zip(parts, part_figures, strict=False):
                medians[name].append(value)
            transfers = []
            for first, second in pairs:
                on_pair = {"cpu-a": first, "cpu-b": second}
                transfers += figures_of("transfer", on_pair, "transfer_ns")
            medians["transfer"] += [max(transfers)] if transfers else []
            medians["switch"] += figures_of("park", {"trips": 5000, **alone}, "median_trip_ns")
            medians["sleep"] += figures_of("sleep", alone, "sleep_ns")
            for delay in DELAYS:
                # Each run takes a fifth of a second or little more.
                options = {"naps": min(500, 200_000_000 // delay), "delay-ns": delay, **apart}
                wake_figures = figures_of("sleep", options, "turnaround_ns", "wake_ns")
                medians[turnaround(delay)] += wake_figures[:1]
                medians["wake"] += wake_figures[1:] if delay == DELAYS[0] else []
    figures = {name: figure for name in MEANINGS if (figure := spread(medians[name])) is not None}
    table = empty_table("Durations of this machine", COLUMNS)
    table.columns[-1].justify = "left"
    for name, figure in figures.items():
        report.rows.append({"measured": name, "ns": figure})
        table.add_row(name, format_spread(figure), MEANINGS[name])
    return figures, [table]


def settings(figures: Mapping[str, Spread]) -> tuple[dict[str, dict[str, int]], Table]:
    """Return the values by lock and name, and their table; values without figures are missing."""
    medians = {name: figure.median for name, figure in figures.items()}
    values: dict[str, dict[str, int]] = {}
    table = empty_table("Settings of the locks", SETTINGS)
    for rule in RULES:
        try:
            value = round(rule.value(medians))
        except KeyError:
            continue
        for lock in rule.locks:
            values.setdefault(lock, {})[rule.name] = value
        locks = "every lock" if rule.locks == (EVERY_LOCK,) else ", ".join(rule.locks)
        table.add_row(f"{locks}: {rule.name}", f"{value:,}", rule.derivation)
    table.columns[-1].justify = "left"
    return values, table
