"""The statistics of one run by name, with their definitions and their fields."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from lockwright.bench.metered import operations
from lockwright.machine.meters import WINDOWED, total_joules
from lockwright.run.bench_program import Outcome, number


@dataclass(frozen=True)
class Statistic:
    """A figure of a run. heading: with its unit. value: returns None where the run has none.

    option: of the meter that it needs, "" for none. energy: whether it needs energy counters.
    """

    heading: str
    definition: str
    value: Callable[[Outcome], float | None]
    lower_is_better: bool = False
    option: str = ""
    energy: bool = False


def _of(kind: str, name: str, per: str | None = None, times: float = 1.0) -> "_Value":
    def value(outcome: Outcome) -> float | None:
        line = outcome.line(kind)
        if line is None or name not in line:
            return None
        if per is None:
            return times * number(line, name)
        return times * number(line, name) / number(line, per) if number(line, per) else None

    return value


def _latency(what: str, name: str) -> "_Value":
    def value(outcome: Outcome) -> float | None:
        found = latency(outcome, what)
        return None if found is None else found.get(name)

    return value


def latency(outcome: Outcome, what: str) -> dict[str, float] | None:
    """Return the numbers of a kind of time (`acquisition`, ...); None where it was not timed."""
    for line in outcome.lines:
        if line.get("kind") == "latency" and line.get("what") == what:
            return {k: float(v) for k, v in line.items() if isinstance(v, int | float)}
    return None


def _broadcasts(*names: str, per: str | None = None, times: float = 1.0) -> "_Value":
    def value(outcome: Outcome) -> float | None:
        found = [
            times * sum(number(line, name) for name in names) / (number(line, per) if per else 1)
            for line in outcome.lines
            if line.get("kind") == "broadcast"
        ]
        return statistics.median(found) if found else None

    return value


def _per_joule(outcome: Outcome) -> float | None:
    joules = total_joules(outcome.meters)
    done = operations(outcome.lines, measured=WINDOWED in outcome.meters)
    return done / joules if joules and done else None


_Value = Callable[[Outcome], float | None]

STATISTICS: dict[str, Statistic] = {
    "rate": Statistic(
        "op/s",
        "operations per second, of all threads together",
        _of("measured", "operations_per_second"),
    ),
    "acquisitions per message": Statistic(
        "acq per message",
        "acquisitions of the mutex per message",
        _of("measured", "acquisitions_per_message"),
        lower_is_better=True,
    ),
    "sync cpus": Statistic(
        "sync cpus",
        "processor time per second less that of sections and gaps",
        _of("measured", "synchronisation_seconds", "seconds"),
        lower_is_better=True,
    ),
    "voluntary": Statistic(
        "vol. switches per 1000 op",
        "voluntary context switches per 1000 operations",
        _of("measured", "voluntary", "operations", 1000),
        lower_is_better=True,
    ),
    "gini": Statistic(
        "gini",
        "Gini coefficient of the operations of each thread: 0 where all did as many",
        _of("measured", "gini"),
        lower_is_better=True,
    ),
    "lwss": Statistic(
        "LWSS",
        "average lock working set size: different threads in a window of 1000 admissions",
        _of("admissions", "average_lwss"),
        lower_is_better=True,
        option="admissions",
    ),
    "mttr": Statistic(
        "MTTR",
        "median number of admissions until the same thread is admitted again",
        _of("admissions", "mttr"),
        lower_is_better=True,
        option="admissions",
    ),
    "p99.9": Statistic(
        "p99.9 ns",
        "nanoseconds that 99.9 % of the acquisitions did not exceed",
        _latency("acquisition", "p99.9_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "longest": Statistic(
        "longest ns",
        "nanoseconds of the longest acquisition",
        _latency("acquisition", "max_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "handover": Statistic(
        "handover ns",
        "nanoseconds from the unlock to the return of a thread that waited by then, on average",
        _latency("handover", "mean_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "broadcast": Statistic(
        "ms per broadcast",
        "milliseconds until the last woken waiter has run its section",
        _broadcasts("wall_ns", times=1e-6),
        lower_is_better=True,
    ),
    "switches per waiter": Statistic(
        "switches per waiter",
        "context switches of the process from the broadcast until all sleep again, per waiter",
        _broadcasts("voluntary", "involuntary", per="waiters"),
        lower_is_better=True,
    ),
    "per joule": Statistic(
        "op per J",
        "operations per joule, of the packages and their memory (TPP)",
        _per_joule,
        energy=True,
    ),
}
