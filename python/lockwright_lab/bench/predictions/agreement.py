"""The agreement of predictions with measurements: the metric of docs/lab/validation.md."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lockwright.experiment import TIMEOUT, Run, Runs
from lockwright.simulate.figures import BASELINE

from lockwright_lab.bench.predictions.subjects import Case, Subject

TIE = 0.05
"""Medians that differ by no more are not shown to differ."""

RATIO, CHANGE = 0.2, 0.1
"""Largest deviation of a predicted ratio to pthread, and of a predicted change, that agrees."""


AGAIN = (f"{BASELINE} again", f"{BASELINE} once more")
"""Further contenders: the baseline, to which all are compared, runs three times in a round."""


def runs_of(runs: Runs, subject: Subject, lock: str) -> list[Run]:
    """Return the runs that did not fail, those that were ended at their limit among them."""
    names = [lock, *(AGAIN if lock == BASELINE else ())]
    made = [run for name in names for run in runs.of(subject.cell, name)]
    return [run for run in made if run.ended == TIMEOUT or "rate" in run.figures]


def _rates(runs: Runs, subject: Subject, lock: str, parity: int | None = None) -> list[float]:
    """Return the rates of these runs. parity: of every second round, from the first (0) or the
    second (1)."""
    return [
        run.figures["rate"]
        for run in runs_of(runs, subject, lock)
        if "rate" in run.figures and parity in (None, (run.round - 1) % 2)
    ]


@dataclass(frozen=True)
class Measured:
    """The runs of a lock. rate: their median, in runs that were ended at their limit the highest
    possible one, is_bound; spread: the range of the rates."""

    rate: float
    spread: float
    number: int
    is_bound: bool = False


@dataclass(frozen=True)
class Ratio:
    """The ratio of a lock to pthread with as many threads, measured and predicted. again: the ratio
    in one half of the rounds, divided by that in the other."""

    subject: str
    threads: int
    lock: str
    measured: float
    predicted: float
    is_bound: bool
    again: float | None = None

    @property
    def agrees(self) -> bool:
        if self.is_bound:
            return self.predicted <= (1 + RATIO) * self.measured
        return abs(self.predicted / self.measured - 1) <= RATIO


@dataclass(frozen=True)
class Cell:
    """A subject with a number of threads. shown: pairs of locks that the runs show to differ;
    right: those of them in the predicted order."""

    subject: str
    threads: int
    pairs: int
    shown: int
    right: int
    ratios: tuple[Ratio, ...]


@dataclass(frozen=True)
class Changed:
    """A change, measured and predicted: the throughput after it divided by that before. again: that
    of one half of the rounds, divided by that of the other."""

    case: Case
    measured: float
    predicted: float
    again: float | None = None

    @property
    def agrees(self) -> bool:
        return abs(self.predicted / self.measured - 1) <= CHANGE


def cell(
    subject: Subject,
    locks: Sequence[str],
    runs: Runs,
    predicted: Mapping[tuple[str, int, str], float],
) -> Cell | None:
    """Return the agreement for a subject; None without the baseline, or if nothing is predicted to
    run under it."""
    measured = _measured(subject, locks, runs)
    rates = {
        lock: predicted[key]
        for lock in measured
        if (key := (subject.name, subject.threads, lock)) in predicted
    }
    if BASELINE not in measured or not rates.get(BASELINE):
        return None
    pairs = list(combinations(sorted(rates), 2))
    shown = [pair for pair in pairs if _is_shown(*(measured[lock] for lock in pair))]
    right = sum((measured[a].rate - measured[b].rate) * (rates[a] - rates[b]) > 0 for a, b in shown)
    ratios = tuple(
        Ratio(
            subject.name,
            subject.threads,
            lock,
            measured[lock].rate / measured[BASELINE].rate,
            rate / rates[BASELINE],
            measured[lock].is_bound,
            _again(runs, (subject, lock), (subject, BASELINE)),
        )
        for lock, rate in rates.items()
        if lock != BASELINE
    )
    return Cell(subject.name, subject.threads, len(pairs), len(shown), right, ratios)


def _measured(subject: Subject, locks: Sequence[str], runs: Runs) -> dict[str, Measured]:
    of_baseline = runs_of(runs, subject, BASELINE)
    works = [run.figures["rate"] * run.wall for run in of_baseline if "rate" in run.figures]
    if not works:
        return {}
    work = statistics.median(works)
    found = {}
    for lock in locks:
        made = runs_of(runs, subject, lock)
        ended = [run for run in made if run.ended == TIMEOUT]
        if ended:
            # So much work in a longer time.
            found[lock] = Measured(work / ended[0].wall, 0.0, len(made), is_bound=True)
        elif made:
            rates = _rates(runs, subject, lock)
            found[lock] = Measured(statistics.median(rates), max(rates) - min(rates), len(rates))
    return found


def _is_shown(first: Measured, second: Measured) -> bool:
    """Return True if the medians differ by more than the sum of the ranges, and than TIE."""
    if first.is_bound and second.is_bound:
        return False
    if any(each.number < 2 and not each.is_bound for each in (first, second)):
        return False
    difference = abs(first.rate - second.rate)
    return difference > first.spread + second.spread and difference > TIE * min(
        first.rate, second.rate
    )


def changed(case: Case, runs: Runs, predicted: Mapping[str, float]) -> Changed | None:
    """Return the agreement for a change; None if it was not measured or not predicted."""
    before, after = (_rates(runs, each, BASELINE) for each in (case.before, case.after))
    if not before or not after or case.name not in predicted:
        return None
    return Changed(
        case,
        statistics.median(after) / statistics.median(before),
        predicted[case.name],
        _again(runs, (case.after, BASELINE), (case.before, BASELINE)),
    )


def _again(runs: Runs, form: tuple[Subject, str], other: tuple[Subject, str]) -> float | None:
    """Return the ratio of two forms' medians in the even rounds, divided by that in the odd ones;
    None without both."""
    medians = []
    for subject, lock in (form, other):
        for parity in (0, 1):
            rates = _rates(runs, subject, lock, parity)
            if not rates:
                return None
            medians.append(statistics.median(rates))
    return (medians[0] / medians[2]) / (medians[1] / medians[3])


def repeats(values: Sequence[float | None], most: float) -> list[bool]:
    """Return whether each known quotient of two halves deviates from 1 by `most` at most."""
    return [abs(value - 1) <= most for value in values if value is not None]


def share(values: Sequence[bool]) -> float | None:
    """Return the share of true values; None without any."""
    return sum(values) / len(values) if values else None
