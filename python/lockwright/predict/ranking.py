"""The predicted ranking of locks for a model."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.predict import progress
from lockwright.predict.estimate import Estimate, estimate
from lockwright.predict.simulations import Outcomes, Point, job
from lockwright.simulate.figures import BASELINE, figures
from lockwright.simulate.run import Cell, Job, Line

TIE = 0.05
"""Two locks whose throughputs differ by no more count as equal, as in docs/lab/validation.md."""


@dataclass(frozen=True)
class Prediction:
    """A lock with a number of threads. rate: sections per second; ratio: to the C library's mutex
    with as many threads; wait: the 99th percentile of an acquisition's duration, in ns. first,
    last: the ranks that it may have. line: the result of the first simulation."""

    lock: str
    threads: int
    rate: Estimate
    ratio: Estimate | None
    wait: Estimate
    first: int
    last: int
    line: Line


Key = tuple[int, Cell]
"""The index of a point, and the cell."""


def jobs(
    points: Sequence[Point], locks: Sequence[str], threads: Sequence[int], seconds: float | None
) -> dict[Key, Job]:
    """Return the simulations of all locks, and of the baseline, at all points."""
    names = list(dict.fromkeys([BASELINE, *locks]))
    return {
        (index, Cell(lock, count)): job(point, point.variant.model, Cell(lock, count), seconds)
        for index, point in enumerate(points)
        for count in threads
        for lock in names
    }


def rank(outcomes: Outcomes[Key], points: Sequence[Point], threads: int) -> list[Prediction]:
    """Return the locks with that number of threads, the best first. points: those of jobs(). A lock
    that failed in a simulation is left out."""
    lines: dict[str, dict[int, Line]] = {}
    failed = {cell.lock for _, cell in outcomes.failures if cell.threads == threads}
    for (index, cell), line in outcomes.lines.items():
        if cell.threads == threads and cell.lock not in failed:
            lines.setdefault(cell.lock, {})[index] = line
    values = {
        lock: {index: figures(line) for index, line in of_lock.items()}
        for lock, of_lock in lines.items()
    }
    rates = {
        lock: {
            index: progress.rate(points[index].variant.model.with_threads(threads), line)
            for index, line in of_lock.items()
        }
        for lock, of_lock in lines.items()
    }
    baseline = rates.get(BASELINE, {})
    predictions = []
    for lock, of_lock in rates.items():
        rate = estimate(list(of_lock.values()))
        wait = estimate([each["wait_p99_ns"] for each in values[lock].values()])
        assert rate is not None
        assert wait is not None
        better = sum(is_better(rates[other], of_lock) for other in rates if other != lock)
        worse = sum(is_better(of_lock, rates[other]) for other in rates if other != lock)
        predictions.append(
            Prediction(
                lock,
                threads,
                rate,
                estimate(_ratios(of_lock, baseline)),
                wait,
                1 + better,
                len(rates) - worse,
                lines[lock][min(lines[lock])],
            )
        )
    return sorted(predictions, key=lambda each: (-each.rate.value, each.lock))


def is_better(rates: Mapping[int, float], others: Mapping[int, float]) -> bool:
    """Return whether a lock is told apart from another one, and better: at each point, and by more
    than TIE in the median."""
    ratios = _ratios(rates, others)
    return bool(ratios) and min(ratios) > 1 and statistics.median(ratios) > 1 + TIE


def _ratios(rates: Mapping[int, float], others: Mapping[int, float]) -> list[float]:
    return [rate / others[index] for index, rate in rates.items() if others.get(index)]
