"""The statistics of one run, by name."""

from dataclasses import dataclass

from lockwright.experiment import Outcome
from lockwright.machine.meters import WINDOWED, total_joules
from lockwright.run.bench_program import number

from lockwright_lab.bench.runs import Value, field, operations, over_lines


@dataclass(frozen=True)
class Statistic:
    """A figure of a run. heading: with its unit. value: returns None if the run has none.

    option: that of the required meter, "" for none. energy: True if it needs energy counters.
    """

    heading: str
    definition: str
    value: Value
    lower_is_better: bool = False
    option: str = ""
    energy: bool = False


def latency(what: str, name: str) -> Value:
    """Return a figure of a kind of time (`acquisition`, ...), such as `p99_ns`."""

    def value(made: Outcome) -> float | None:
        for line in made.details["lines"]:
            if line.get("kind") == "latency" and line.get("what") == what:
                figure = line.get(name)
                return float(figure) if isinstance(figure, int | float) else None
        return None

    return value


def _per_joule(made: Outcome) -> float | None:
    meters = made.details.get("meters") or {}
    joules = total_joules(meters)
    count = operations(made.details["lines"], measured=WINDOWED in meters)
    return count / joules if joules and count else None


STATISTICS: dict[str, Statistic] = {
    "rate": Statistic(
        "op/s",
        "operations per second, of all threads together",
        field("measured", "operations_per_second"),
    ),
    "acquisitions per message": Statistic(
        "acq per message",
        "acquisitions of the mutex per message",
        field("measured", "acquisitions_per_message"),
        lower_is_better=True,
    ),
    "sync cpus": Statistic(
        "sync cpus",
        "processor time per second, without that of sections and gaps",
        field("measured", "synchronisation_seconds", "seconds"),
        lower_is_better=True,
    ),
    "voluntary": Statistic(
        "vol. switches per 1000 op",
        "voluntary context switches per 1000 operations",
        field("measured", "voluntary", "operations", 1000),
        lower_is_better=True,
    ),
    "gini": Statistic(
        "gini",
        "Gini coefficient of the operations of each thread: 0 if all did as many",
        field("measured", "gini"),
        lower_is_better=True,
    ),
    "lwss": Statistic(
        "LWSS",
        "average lock working set size: different threads in a window of 1000 admissions",
        field("admissions", "average_lwss"),
        lower_is_better=True,
        option="admissions",
    ),
    "mttr": Statistic(
        "MTTR",
        "median number of admissions until the same thread is admitted again",
        field("admissions", "mttr"),
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
        over_lines("broadcast", lambda line: 1e-6 * number(line, "wall_ns")),
        lower_is_better=True,
    ),
    "switches per waiter": Statistic(
        "switches per waiter",
        "context switches of the process from the broadcast until all sleep again, per waiter",
        over_lines(
            "broadcast",
            lambda line: (
                (number(line, "voluntary") + number(line, "involuntary")) / number(line, "waiters")
            ),
        ),
        lower_is_better=True,
    ),
    "per joule": Statistic(
        "op per J",
        "operations per joule, of the packages and their memory (TPP)",
        _per_joule,
        energy=True,
    ),
}
