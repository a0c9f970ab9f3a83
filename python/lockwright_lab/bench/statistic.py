"""The statistics of one run, by name."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from lockwright.machine.meters import WINDOWED, total_joules
from lockwright.run.bench_program import Outcome, number

from lockwright_lab.bench.metered import operations


@dataclass(frozen=True)
class Statistic:
    """A figure of a run. heading: with its unit. value: returns None if the run has none.

    option: that of the required meter, "" for none. energy: True if it needs energy counters.
    """

    heading: str
    definition: str
    value: Callable[[Outcome], float | None]
    lower_is_better: bool = False
    option: str = ""
    energy: bool = False


def _field(kind: str, name: str, per: str | None = None, factor: float = 1.0) -> "_Value":
    def value(outcome: Outcome) -> float | None:
        line = outcome.line(kind)
        if line is None or name not in line:
            return None
        divisor = 1.0 if per is None else number(line, per)
        return factor * number(line, name) / divisor if divisor else None

    return value


def latency(what: str, name: str) -> "_Value":
    """Return a figure of a kind of time (`acquisition`, ...), such as `p99_ns`."""

    def value(outcome: Outcome) -> float | None:
        for line in outcome.lines:
            if line.get("kind") == "latency" and line.get("what") == what:
                figure = line.get(name)
                return float(figure) if isinstance(figure, int | float) else None
        return None

    return value


def _broadcasts(*names: str, per: str | None = None, factor: float = 1.0) -> "_Value":
    def value(outcome: Outcome) -> float | None:
        figures = [
            factor * sum(number(line, name) for name in names) / (number(line, per) if per else 1)
            for line in outcome.lines
            if line.get("kind") == "broadcast"
        ]
        return statistics.median(figures) if figures else None

    return value


def _per_joule(outcome: Outcome) -> float | None:
    joules = total_joules(outcome.meters)
    count = operations(outcome.lines, measured=WINDOWED in outcome.meters)
    return count / joules if joules and count else None


_Value = Callable[[Outcome], float | None]

STATISTICS: dict[str, Statistic] = {
    "rate": Statistic(
        "op/s",
        "operations per second, of all threads together",
        _field("measured", "operations_per_second"),
    ),
    "acquisitions per message": Statistic(
        "acq per message",
        "acquisitions of the mutex per message",
        _field("measured", "acquisitions_per_message"),
        lower_is_better=True,
    ),
    "sync cpus": Statistic(
        "sync cpus",
        "processor time per second, without that of sections and gaps",
        _field("measured", "synchronisation_seconds", "seconds"),
        lower_is_better=True,
    ),
    "voluntary": Statistic(
        "vol. switches per 1000 op",
        "voluntary context switches per 1000 operations",
        _field("measured", "voluntary", "operations", 1000),
        lower_is_better=True,
    ),
    "gini": Statistic(
        "gini",
        "Gini coefficient of the operations of each thread: 0 if all did as many",
        _field("measured", "gini"),
        lower_is_better=True,
    ),
    "lwss": Statistic(
        "LWSS",
        "average lock working set size: different threads in a window of 1000 admissions",
        _field("admissions", "average_lwss"),
        lower_is_better=True,
        option="admissions",
    ),
    "mttr": Statistic(
        "MTTR",
        "median number of admissions until the same thread is admitted again",
        _field("admissions", "mttr"),
        lower_is_better=True,
        option="admissions",
    ),
    "p99.9": Statistic(
        "p99.9 ns",
        "nanoseconds that 99.9 % of the acquisitions did not exceed",
        latency("acquisition", "p99.9_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "longest": Statistic(
        "longest ns",
        "nanoseconds of the longest acquisition",
        latency("acquisition", "max_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "handover": Statistic(
        "handover ns",
        "nanoseconds from the unlock to the return of a thread that waited by then, on average",
        latency("handover", "mean_ns"),
        lower_is_better=True,
        option="latency",
    ),
    "broadcast": Statistic(
        "ms per broadcast",
        "milliseconds until the last woken waiter has run its section",
        _broadcasts("wall_ns", factor=1e-6),
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
