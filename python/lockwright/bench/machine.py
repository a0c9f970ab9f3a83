"""The durations of this machine that matter for locks, and the settings derived from them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from rich.table import Table

from lockwright.bench.report import Column, Report, progress, table, watching_others
from lockwright.machine.calibration import EVERY_LOCK
from lockwright.run.bench_program import LIBC, Subject, number, run
from lockwright.stats.spread import Spread, format_spread, spread

DELAYS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Nanoseconds parked before the wake: the longer a processor was idle, the longer it takes."""

PAIRS = 12
"""Most pairs of processors between which a cache line is sent; spread over all pairs."""

COLUMNS = [
    Column("measured", "what, in nanoseconds."),
    Column("ns", "the median of a run; median over the rounds."),
    Column("meaning", "how it is measured."),
]

SETTINGS = [
    Column("number", "the number, of every lock that has one of that name, or of one lock."),
    Column("value", "what was found for it."),
    Column("from", "how it follows from what was measured."),
]


def turnaround(delay: int) -> str:
    """Return the name of the measurement with that many nanoseconds parked."""
    return f"turnaround {delay // 1000} us"


MEANINGS = {
    "pause": "one polite step of a polling loop",
    "turn": "one turn of the empty loop in which delays are counted",
    "clock": "one look at the clock",
    "transfer": "a cache line goes from one processor to another, the slowest pair",
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
    """A rule that derives a number of a lock from measurements."""

    locks: tuple[str, ...]
    name: str
    value: Callable[[Mapping[str, float]], float]
    why: str


_MUTEXEE = ("mutexee", "mutexee-timeout")

RULES = [
    Rule(
        (EVERY_LOCK,),
        "spin-ns",
        _asleep,
        "sleep + turnaround: a waiter that polls for as long as a sleep costs and then sleeps "
        "loses at most twice the least possible",
    ),
    Rule(
        _MUTEXEE,
        "spin-ns",
        _asleep,
        "the same, which the authors' 8000 cycles were on their machine",
    ),
    Rule(
        _MUTEXEE,
        "grace-ns",
        _grace,
        "3 transfers + a pause: a polling waiter sees the lock free, takes it, and is medians",
    ),
    Rule(
        _MUTEXEE, "spin-mutex-mode-ns", lambda medians: 2 * _grace(medians) / 3, "2/3 of grace-ns"
    ),
    Rule(_MUTEXEE, "grace-mutex-mode-ns", lambda medians: _grace(medians) / 3, "1/3 of grace-ns"),
]
"""The fractions of MUTEXEE are those of its authors' cycles: 384, 256 and 128."""

LEFT = (
    "All other numbers keep their defaults; so does how often a NUMA node passes a lock on within "
    "itself, which weighs speed against fairness, and that no measurement decides."
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

        def ask(turn: int, workload: str, given: Mapping[str, object], *names: str) -> list[float]:
            """Return the figures of those names from one run; none if it failed."""
            steps.step(workload)
            outcome = run(Subject(LIBC), workload, given, timeout=timeout)
            report.record(Subject(LIBC), turn, outcome, workload=workload, **given)
            line = outcome.line("result")
            return [number(line, name) for name in names] if line and not outcome.failure else []

        for turn in range(rounds):
            parts = ("pause", "turn", "clock")
            for name, value in zip(
                parts, ask(turn, "pause", {}, *(f"{part}_ns" for part in parts)), strict=False
            ):
                medians[name].append(value)
            transfers = [
                value
                for first, second in pairs
                for value in ask(turn, "transfer", {"cpu-a": first, "cpu-b": second}, "transfer_ns")
            ]
            medians["transfer"] += [max(transfers)] if transfers else []
            medians["switch"] += ask(turn, "park", {"trips": 5000, **alone}, "median_trip_ns")
            medians["sleep"] += ask(turn, "sleep", alone, "sleep_ns")
            for delay in DELAYS:
                # Each run takes a fifth of a second or little more.
                given = {"naps": min(500, 200_000_000 // delay), "delay-ns": delay, **apart}
                answer = ask(turn, "sleep", given, "turnaround_ns", "wake_ns")
                medians[turnaround(delay)] += answer[:1]
                medians["wake"] += answer[1:] if delay == DELAYS[0] else []
    figures = {name: found for name in MEANINGS if (found := spread(medians[name])) is not None}
    shown = table("Durations of this machine", COLUMNS)
    shown.columns[-1].justify = "left"
    for name, found in figures.items():
        report.rows.append({"measured": name, "ns": found})
        shown.add_row(name, format_spread(found), MEANINGS[name])
    return figures, [shown]


def settings(figures: Mapping[str, Spread]) -> tuple[dict[str, dict[str, int]], Table]:
    """Return the values by lock and name, and a table of them; numbers whose measurements are
    missing are left out."""
    medians = {name: found.median for name, found in figures.items()}
    values: dict[str, dict[str, int]] = {}
    shown = table("Settings of the locks", SETTINGS)
    for rule in RULES:
        try:
            value = round(rule.value(medians))
        except KeyError:
            continue
        for lock in rule.locks:
            values.setdefault(lock, {})[rule.name] = value
        where = "every lock" if rule.locks == (EVERY_LOCK,) else ", ".join(rule.locks)
        shown.add_row(f"{where}: {rule.name}", f"{value:,}", rule.why)
    shown.columns[-1].justify = "left"
    return values, shown
