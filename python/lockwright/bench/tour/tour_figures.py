"""The figures of a tour, of the runs that were made: what its page draws and its files hold."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.bench.cases import Case
from lockwright.bench.rounds import Seen
from lockwright.bench.statistic import STATISTICS, latency
from lockwright.bench.tour.tour_plan import DELAYS, Plan
from lockwright.run.bench_program import LIBC, Outcome
from lockwright.stats import inference

PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "max")
NAP_FIGURES = ("turnaround_ns", "wake_ns", "sleep_ns")

Value = Callable[[Outcome], float | None]


@dataclass(frozen=True)
class Point:
    """A figure of a case over the rounds. ratio: to another lock's, with its 95 % interval."""

    median: float
    least: float
    most: float
    rounds: int
    ratio: tuple[float, float | None, float | None] | None = None


def point(seen: Seen, one: Case, value: Value, base: Case | None = None) -> Point | None:
    """None where no run has the figure. base: what the ratio is to, taken within each round."""
    found = seen.over_rounds(one, value)
    if not found:
        return None
    ratio = None
    if base is not None:
        other = seen.over_rounds(base, value)
        both = sorted(found.keys() & other.keys())
        paired = inference.paired_ratio([found[t] for t in both], [other[t] for t in both], False)
        if paired is not None:
            ratio = (paired.value, paired.low, paired.high)
    values = list(found.values())
    return Point(statistics.median(values), min(values), max(values), len(values), ratio)


def rate(seen: Seen, one: Case, base: Case | None = None) -> Point | None:
    """Operations per second."""
    return point(seen, one, STATISTICS["rate"].value, base)


def throughput(plan: Plan, seen: Seen) -> dict[str, list[Point | None]]:
    """Of each lock, acquisitions per second at each number of threads, and the ratio to libc."""
    return {
        lock: [rate(seen, plan.contended(lock, n), plan.contended(LIBC, n)) for n in plan.threads]
        for lock in plan.locks
    }


def by_threads(
    plan: Plan, seen: Seen, name: str, case_of: Callable[[str, int], Case], threads: Sequence[int]
) -> dict[str, list[Point | None]]:
    """Of each lock, a statistic at each number of threads."""
    value = STATISTICS[name].value
    return {lock: [point(seen, case_of(lock, n), value) for n in threads] for lock in plan.locks}


def percentiles(plan: Plan, seen: Seen, threads: int) -> dict[str, list[float | None]]:
    """Of each lock, the times of an acquisition in nanoseconds that PERCENTILES of them did not
    exceed: the median over the rounds; the longest is the longest of all rounds.
    """
    return {
        lock: [_percentile(seen, plan.timed(lock, threads), name) for name in PERCENTILES]
        for lock in plan.locks
    }


def _percentile(seen: Seen, one: Case, name: str) -> float | None:
    found = list(seen.over_rounds(one, _timed(name)).values())
    if not found:
        return None
    return max(found) if name == "max" else statistics.median(found)


def naps(plan: Plan, seen: Seen) -> list[dict[str, float | None]]:
    """For each delay, how long waking took and the calls that it is made of, in nanoseconds."""
    rows = []
    for delay in DELAYS:
        row: dict[str, float | None] = {"delay": delay}
        for name in NAP_FIGURES:
            found = point(seen, plan.nap(delay), _field(name))
            row[name] = None if found is None else found.median
        rows.append(row)
    return rows


def _field(name: str) -> Value:
    def figure_of(outcome: Outcome) -> float | None:
        line = outcome.line("measured")
        figure = None if line is None else line.get(name)
        return float(figure) if isinstance(figure, int | float) else None

    return figure_of


def uncontested(plan: Plan, seen: Seen) -> dict[str, Point | None]:
    """Of each lock, acquisitions per second of one thread, and the ratio to libc."""
    base = plan.uncontested(LIBC)
    return {lock: rate(seen, plan.uncontested(lock), base) for lock in plan.locks}


def energy(plan: Plan, seen: Seen) -> list[dict[str, Any]]:
    """Throughput and operations per joule of each lock at each number of threads, where both are
    known.
    """
    rows = []
    for lock in plan.locks:
        for threads in plan.threads:
            one = plan.contended(lock, threads)
            fast, thrifty = rate(seen, one), point(seen, one, STATISTICS["per joule"].value)
            if fast is not None and thrifty is not None:
                rows.append(
                    {
                        "lock": lock,
                        "threads": threads,
                        "rate": fast.median,
                        "per_joule": thrifty.median,
                    }
                )
    return rows


def rows(plan: Plan, seen: Seen) -> Iterator[dict[str, object]]:
    """Every statistic of every case, one after the other, as the CSV file has them."""
    for one in plan.cases():
        values: dict[str, Value] = {name: each.value for name, each in STATISTICS.items()}
        values |= {f"acquisition {name}": _timed(name) for name in PERCENTILES}
        values |= {name: _field(name) for name in NAP_FIGURES}
        for name, value in values.items():
            found = point(seen, one, value)
            if found is not None:
                yield {
                    "workload": one.workload,
                    "lock": one.lock,
                    "options": " ".join(f"{key}={v}" for key, v in one.options),
                    "variables": " ".join(f"{key}={v}" for key, v in one.environment),
                    "figure": name,
                    "median": found.median,
                    "least": found.least,
                    "most": found.most,
                    "rounds": found.rounds,
                }


def _timed(name: str) -> Value:
    def value(outcome: Outcome) -> float | None:
        return (latency(outcome, "acquisition") or {}).get(f"{name}_ns")

    return value
