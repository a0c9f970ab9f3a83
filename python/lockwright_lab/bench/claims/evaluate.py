"""The evaluation of claims by their runs."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lockwright.base.numbers import plain
from lockwright.stats import inference

from lockwright_lab.bench.cases import Results
from lockwright_lab.bench.claims.claim import Aggregate, Claim, Options, Side


class Verdict(StrEnum):
    """The result of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not shown"
    ELSEWHERE = "cannot be shown here"


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that claims need. no_energy: why energy counters are absent."""

    processors: int
    locks: frozenset[str]
    no_energy: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of a claim: the figure's median over the rounds with its 95 % interval, and the
    verdict with its reason. values: the figure of each round. sides: the median of each side's
    statistic, if the claim has one point.
    """

    claim: Claim
    verdict: Verdict
    reason: str
    median: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()
    sides: tuple[float, ...] = ()


def obstacle(claim: Claim, machine: Machine) -> str:
    """Return why the claim cannot be shown on the machine, or ""."""
    if claim.elsewhere:
        return claim.elsewhere
    if claim.figure.energy and machine.no_energy:
        return f"energy is not measurable here: {machine.no_energy}"
    if claim.processors > machine.processors:
        return f"it needs {claim.processors} processors, and there are {machine.processors} here"
    absent = [name for side in claim.sides for name in side.locks if name not in machine.locks]
    if absent:
        return f"not built: {', '.join(dict.fromkeys(absent))}"
    return ""


_IntervalOf = Callable[[Sequence[float]], tuple[float, float] | None]


def evaluate(
    claim: Claim,
    results: Results,
    machine: Machine,
    interval_of: _IntervalOf = inference.median_interval,
) -> Finding:
    """Return the finding, whose verdict compares the interval with the bounds of the claim.

    interval_of: computes the interval from the figures of all rounds.
    """
    if absent := obstacle(claim, machine):
        return Finding(claim, Verdict.ELSEWHERE, f"{absent[:1].upper()}{absent[1:]}.")
    values = _figures(claim, results)
    if not values:
        return Finding(claim, Verdict.OPEN, _missing_figures(claim, results))
    median = statistics.median(values)
    sides = _sides(claim, results)
    interval = interval_of(values)
    if interval is None:
        rounds = "One round" if len(values) == 1 else f"{len(values)} rounds"
        reason = f"{_sides_text(claim, sides)}{rounds} gave a figure, and an interval needs six."
        return Finding(claim, Verdict.OPEN, reason, median, values=tuple(values), sides=sides)
    verdict = judge(*interval, claim.least, claim.most)
    reason = _sides_text(claim, sides) + _reason(verdict, claim, *interval)
    return Finding(claim, verdict, reason, median, *interval, tuple(values), sides)


def judge(low: float, high: float, least: float | None, most: float | None) -> Verdict:
    """Return the verdict of an interval by the bounds; None for no bound."""
    if (least is not None and high < least) or (most is not None and low > most):
        return Verdict.FAILS
    if (least is None or low >= least) and (most is None or high <= most):
        return Verdict.HOLDS
    return Verdict.OPEN


def _figures(claim: Claim, results: Results) -> list[float]:
    """Return the figure of each round in which all points have one."""
    by_side = [_complete(claim, results, side) for side in claim.sides]
    rounds = sorted(set.intersection(*(set(figures) for figures in by_side)))
    return [_figure(claim, *(figures[number] for figures in by_side)) for number in rounds]


def _figure(claim: Claim, upper: list[float], lower: list[float] | None = None) -> float:
    """Return the figure of the statistics of both sides at all points."""
    if lower is None:
        lower = [1.0] * len(upper)
    if claim.of_averages:
        return statistics.fmean(upper) / statistics.fmean(lower)
    return math.exp(statistics.fmean(math.log(a / b) for a, b in zip(upper, lower, strict=True)))


def _complete(claim: Claim, results: Results, side: Side) -> dict[int, list[float]]:
    """Return the statistics of one side at all points, by round, without incomplete rounds."""
    by_point = [_side_figures(claim, results, side, point) for point in claim.points]
    rounds = set.intersection(*(set(figures) for figures in by_point))
    return {number: [figures[number] for figures in by_point] for number in rounds}


def _side_figures(claim: Claim, results: Results, side: Side, point: Options) -> dict[int, float]:
    """Return the statistic of one side by round, without values that are not positive."""
    by_lock = []
    for case in claim.cases_of(side, point):
        figures = results.over_rounds(case, claim.figure.of)
        by_lock.append({number: figure for number, figure in figures.items() if figure > 0})
    if len(by_lock) > 1 and side.aggregate == Aggregate.MEAN:
        common = set.intersection(*(set(figures) for figures in by_lock))
        return {
            number: statistics.fmean(figures[number] for figures in by_lock) for number in common
        }
    best = min if claim.figure.lower else max
    # The best median, and not the best of each round, which is biased.
    return best(
        (figures for figures in by_lock if figures),
        key=lambda figures: statistics.median(figures.values()),
        default={},
    )


def _sides(claim: Claim, results: Results) -> tuple[float, ...]:
    if len(claim.points) > 1:
        return ()
    by_side = [_side_figures(claim, results, side, claim.points[0]) for side in claim.sides]
    return tuple(statistics.median(figures.values()) for figures in by_side if figures)


def _sides_text(claim: Claim, sides: Sequence[float]) -> str:
    """Return the prefix of the reason, `mcs-spin 312 op/s, mcs-stp 1,204,332 op/s. `."""
    figures = [
        f"{side.name} {plain(figure)} {claim.figure.heading}"
        for side, figure in zip(claim.sides, sides, strict=False)
    ]
    return f"{', '.join(figures)}. " if figures else ""


def _reason(verdict: Verdict, claim: Claim, low: float, high: float) -> str:
    least, most = claim.least, claim.most
    bounds = f"above {least:g}" if most is None else f"below {most:g}"
    if least is not None and most is not None:
        bounds = f"from {least:g} to {most:g}"
    where = {Verdict.HOLDS: "lies within", Verdict.FAILS: "lies outside"}
    lies = where.get(verdict, "is neither within nor outside")
    return f"The interval, {plain(low)} to {plain(high)}, {lies} the bounds of the claim, {bounds}."


def _missing_figures(claim: Claim, results: Results) -> str:
    cases = claim.cases()
    without = [each.label() for each in cases if not results.over_rounds(each, claim.figure.of)]
    if not without:
        return "No round gave a figure above 0 for all cases of the claim."
    more = f" and {len(without) - 1} more" if len(without) > 1 else ""
    return f"No run gave '{claim.figure.heading}': {without[0]}{more}."
