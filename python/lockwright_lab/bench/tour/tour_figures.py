"""The figures of a tour, for its page and its files."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lockwright.run.bench_program import LIBC, Outcome
from lockwright.stats import inference

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.rounds import RoundResults
from lockwright_lab.bench.statistic import STATISTICS, latency
from lockwright_lab.bench.tour.tour_plan import DELAYS, Plan

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


def point(
    results: RoundResults, case: Case, value: Value, base: Case | None = None
) -> Point | None:
    """Return the figure of a case; None if no run has it. base: the case that the ratio is relative
    to, taken within each round."""
    figures = results.over_rounds(case, value)
    if not figures:
        return None
    ratio = None
    if base is not None:
        others = results.over_rounds(base, value)
        both = sorted(figures.keys() & others.keys())
        numerators, denominators = [figures[n] for n in both], [others[n] for n in both]
        paired = inference.paired_ratio(numerators, denominators, lower_is_better=False)
        if paired is not None:
            ratio = (paired.value, paired.low, paired.high)
    values = list(figures.values())
    return Point(statistics.median(values), min(values), max(values), len(values), ratio)


def rate(results: RoundResults, case: Case, base: Case | None = None) -> Point | None:
    """Return the operations per second of a case."""
    return point(results, case, STATISTICS["rate"].value, base)


def throughput(plan: Plan, results: RoundResults) -> dict[str, list[Point | None]]:
    """Return by lock the acquisitions per second at each number of threads, with ratios to libc."""
    return {
        lock: [
            rate(results, plan.contended(lock, n), plan.contended(LIBC, n)) for n in plan.threads
        ]
        for lock in plan.locks
    }


def by_threads(
    plan: Plan,
    results: RoundResults,
    name: str,
    case_of: Callable[[str, int], Case],
    threads: Sequence[int],
) -> dict[str, list[Point | None]]:
    """Return by lock a statistic at each number of threads."""
    value = STATISTICS[name].value
    return {lock: [point(results, case_of(lock, n), value) for n in threads] for lock in plan.locks}


def percentiles(plan: Plan, results: RoundResults, threads: int) -> dict[str, list[float | None]]:
    """Return by lock the PERCENTILES of an acquisition's time in ns: each is the median over the
    rounds, except the longest of all rounds."""
    return {
        lock: [_percentile(results, plan.timed(lock, threads), name) for name in PERCENTILES]
        for lock in plan.locks
    }


def _percentile(results: RoundResults, case: Case, name: str) -> float | None:
    figures = list(results.over_rounds(case, _timed(name)).values())
    if not figures:
        return None
    return max(figures) if name == "max" else statistics.median(figures)


def naps(plan: Plan, results: RoundResults) -> list[dict[str, float | None]]:
    """Return NAP_FIGURES for each delay."""
    rows = []
    for delay in DELAYS:
        row: dict[str, float | None] = {"delay": delay}
        for name in NAP_FIGURES:
            figure = point(results, plan.nap(delay), _field(name))
            row[name] = None if figure is None else figure.median
        rows.append(row)
    return rows


def _field(name: str) -> Value:
    def figure_of(outcome: Outcome) -> float | None:
        line = outcome.line("measured")
        figure = None if line is None else line.get(name)
        return float(figure) if isinstance(figure, int | float) else None

    return figure_of


def uncontested(plan: Plan, results: RoundResults) -> dict[str, Point | None]:
    """Return by lock the acquisitions per second of one thread, with the ratio to libc."""
    base = plan.uncontested(LIBC)
    return {lock: rate(results, plan.uncontested(lock), base) for lock in plan.locks}


def energy(plan: Plan, results: RoundResults) -> list[dict[str, Any]]:
    """Return throughput and operations per joule of each lock at each number of threads, where both
    are known."""
    rows = []
    for lock in plan.locks:
        for threads in plan.threads:
            case = plan.contended(lock, threads)
            per_second = rate(results, case)
            per_joule = point(results, case, STATISTICS["per joule"].value)
            if per_second is not None and per_joule is not None:
                figures = {"rate": per_second.median, "per_joule": per_joule.median}
                rows.append({"lock": lock, "threads": threads, **figures})
    return rows


def rows(plan: Plan, results: RoundResults) -> Iterator[dict[str, object]]:
    """Yield every statistic of every case as a row of the CSV file."""
    values: dict[str, Value] = {name: each.value for name, each in STATISTICS.items()}
    values |= {f"acquisition {name}": _timed(name) for name in PERCENTILES}
    values |= {name: _field(name) for name in NAP_FIGURES}
    for case in plan.cases():
        for name, value in values.items():
            figure = point(results, case, value)
            if figure is not None:
                yield {
                    "workload": case.workload,
                    "lock": case.lock,
                    "options": " ".join(f"{key}={v}" for key, v in case.options),
                    "variables": " ".join(f"{key}={v}" for key, v in case.environment),
                    "figure": name,
                    "median": figure.median,
                    "least": figure.least,
                    "most": figure.most,
                    "rounds": figure.rounds,
                }


def _timed(name: str) -> Value:
    return latency("acquisition", f"{name}_ns")
