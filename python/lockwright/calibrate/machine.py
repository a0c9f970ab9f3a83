"""The durations of this machine that matter for locks, and the settings derived from them."""

import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display
from lockwright.experiment.report import Grid, text_grid
from lockwright.machine.calibration import EVERY_LOCK
from lockwright.run.bench_program import LIBC, Subject, number, run
from lockwright.stats.spread import Spread, format_spread, spread

DELAYS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Nanoseconds parked before the wake: a processor that was idle longer takes longer to wake."""

PAIRS = 12
"""Most pairs of processors between which a cache line is transferred, a sample of all pairs."""


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


@dataclass
class Measured:
    """The durations by the names of MEANINGS in nanoseconds, one for each round. others: for each
    run the share of all processors that other processes used, None if unknown."""

    rounds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in MEANINGS})
    others: list[float | None] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, Spread]:
        """The median of each duration over the rounds, with its quartiles."""
        spreads = {name: spread(values) for name, values in self.rounds.items()}
        return {name: figure for name, figure in spreads.items() if figure is not None}

    @property
    def busy(self) -> float | None:
        """The mean share of the processors that other processes used."""
        known = [share for share in self.others if share is not None]
        return statistics.fmean(known) if known else None


def measure(rounds: int, timeout: float) -> Measured:
    """Measure this machine, with progress. Raises LockwrightError if a run fails.

    With one processor only, there is no transfer and all sleeps and wakes are on that one.
    """
    allowed = sorted(os.sched_getaffinity(0))
    alone = {"cpu-a": allowed[0], "cpu-b": allowed[0]}
    apart = {"cpu-a": allowed[0], "cpu-b": allowed[min(1, len(allowed) - 1)]}
    pairs = _pairs(allowed)
    measured = Measured()
    of = measured.rounds
    with Display(rounds * (3 + len(pairs) + len(DELAYS)), 0) as display:

        def figures_of(workload: str, options: Mapping[str, object], *names: str) -> list[float]:
            """Return the figures of those names from one run."""
            display.announce(workload, "", None)
            made = run(Subject(LIBC), workload, options, timeout=timeout)
            display.advance()
            measured.others.append(made.others)
            line = made.line("result")
            if line is None or made.failure:
                why = f"{LIBC}, workload {workload}: {made.failure or 'no result'}"
                raise LockwrightError(f"the machine could not be measured: {why}", "try it again")
            return [number(line, name) for name in names]

        for _ in range(rounds):
            parts = ("pause", "turn", "clock")
            part_figures = figures_of("pause", {}, *(f"{part}_ns" for part in parts))
            for name, value in zip(parts, part_figures, strict=True):
                of[name].append(value)
            transfers = []
            for first, second in pairs:
                on_pair = {"cpu-a": first, "cpu-b": second}
                transfers += figures_of("transfer", on_pair, "transfer_ns")
            of["transfer"] += [max(transfers)] if transfers else []
            of["switch"] += figures_of("park", {"trips": 5000, **alone}, "median_trip_ns")
            of["sleep"] += figures_of("sleep", alone, "sleep_ns")
            for delay in DELAYS:
                # Each run takes a fifth of a second or little more.
                options = {"naps": min(500, 200_000_000 // delay), "delay-ns": delay, **apart}
                wake_figures = figures_of("sleep", options, "turnaround_ns", "wake_ns")
                of[turnaround(delay)] += wake_figures[:1]
                of["wake"] += wake_figures[1:] if delay == DELAYS[0] else []
    return measured


def durations(figures: Mapping[str, Spread]) -> Grid:
    """Return the table of the durations."""
    lines = [[name, format_spread(each), MEANINGS[name]] for name, each in figures.items()]
    return text_grid(
        "Durations of this machine", ["measured", "ns", "meaning"], lines, is_prose=True
    )


def settings(figures: Mapping[str, Spread]) -> tuple[dict[str, dict[str, int]], Grid]:
    """Return the values by lock and name, and their table; values without figures are missing."""
    medians = {name: figure.median for name, figure in figures.items()}
    values: dict[str, dict[str, int]] = {}
    lines = []
    for rule in RULES:
        try:
            value = round(rule.value(medians))
        except KeyError:
            continue
        for lock in rule.locks:
            values.setdefault(lock, {})[rule.name] = value
        locks = "every lock" if rule.locks == (EVERY_LOCK,) else ", ".join(rule.locks)
        lines.append([f"{locks}: {rule.name}", f"{value:,}", rule.derivation])
    return values, text_grid(
        "Settings of the locks", ["number", "value", "from"], lines, is_prose=True
    )
