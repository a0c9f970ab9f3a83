"""The durations of this machine that matter for locks, and the settings derived from them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

from lockwright.calibrate.probes import Measured, Probe, fields
from lockwright.experiment.report import Grid, text_grid
from lockwright.machine.calibration import EVERY_LOCK
from lockwright.stats.spread import Spread, format_spread

DELAYS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Nanoseconds parked before the wake: a processor that was idle longer takes longer to wake."""

PAIRS = 12
"""Most pairs of processors between which a cache line is transferred, a sample of all pairs."""

_TRANSFER = "transfer of"
"""First words of the name of a pair's figure."""


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


def probes() -> list[Probe]:
    """Return the measurements. With one processor there is no transfer, and all sleeps and wakes
    are on that one."""
    allowed = sorted(os.sched_getaffinity(0))
    alone = {"cpu-a": allowed[0], "cpu-b": allowed[0]}
    apart = {"cpu-a": allowed[0], "cpu-b": allowed[min(1, len(allowed) - 1)]}
    pairs = list(combinations(allowed, 2))
    return [
        Probe("pause", {}, fields("pause", "turn", "clock")),
        *(
            Probe("transfer", {"cpu-a": a, "cpu-b": b}, {f"{_TRANSFER} {a} {b}": "transfer_ns"})
            for a, b in pairs[:: max(1, -(-len(pairs) // PAIRS))]
        ),
        Probe("park", {"trips": 5000, **alone}, {"switch": "median_trip_ns"}),
        Probe("sleep", alone, fields("sleep")),
        *(
            # Each run takes a fifth of a second or little more.
            Probe(
                "sleep",
                {"naps": min(500, 200_000_000 // delay), "delay-ns": delay, **apart},
                {turnaround(delay): "turnaround_ns"}
                | (fields("wake") if delay == DELAYS[0] else {}),
            )
            for delay in DELAYS
        ),
    ]


def figures(measured: Measured) -> dict[str, Spread]:
    """Return the durations by the names of MEANINGS."""
    pairs = [name for name in measured.values if name.startswith(_TRANSFER)]
    names = {name: name for name in MEANINGS if name in measured}
    if pairs:
        names["transfer"] = max(pairs, key=measured.__getitem__)
    return {name: measured.spread(names[name]) for name in MEANINGS if name in names}


def durations(found: Mapping[str, Spread]) -> Grid:
    """Return the table of the durations."""
    lines = [[name, format_spread(each), MEANINGS[name]] for name, each in found.items()]
    return text_grid(
        "Durations of this machine", ["measured", "ns", "meaning"], lines, is_prose=True
    )


def settings(found: Mapping[str, Spread]) -> tuple[dict[str, dict[str, int]], Grid]:
    """Return the values by lock and name, and their table; values without figures are missing."""
    medians = {name: figure.median for name, figure in found.items()}
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
