"""The evaluation of claims by their runs."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lockwright.base.numbers import plain
from lockwright.bench.claims.claim import Claim, Of, Options, Side
from lockwright.bench.rounds import RoundResults
from lockwright.stats import inference


class Verdict(StrEnum):
    """The result of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not shown"
    ELSEWHERE = "cannot be shown here"


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that claims need. no_energy: why there are no energy counters, or
    ""."""

    processors: int
    locks: frozenset[str]
    no_energy: str = ""


@dataclass(frozen=True)
class Finding:
    """The result of a claim: the figure's median over the rounds with its 95 % interval, and the
    verdict with the reason, a sentence. values: the figure of each round. sides: the median of each
    side's statistic, where it was measured at one point.
    """

    claim: Claim
    verdict: Verdict
    why: str
    median: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()
    sides: tuple[float, ...] = field(default=())


def obstacle(claim: Claim, machine: Machine) -> str:
    """Return why the claim cannot be shown on the machine, or ""."""
    if claim.elsewhere:
        return claim.elsewhere
    if claim.what.energy and machine.no_energy:
        return f"energy is not measurable here: {machine.no_energy}"
    if claim.processors > machine.processors:
        return f"it takes {claim.processors} processors, and there are {machine.processors} here"
    absent = [name for side in claim.sides for name in side.locks if name not in machine.locks]
    if absent:
        return f"not built: {', '.join(dict.fromkeys(absent))}"
    return ""


Interval = Callable[[Sequence[float]], tuple[float, float] | None]


def evaluate(
    claim: Claim,
    results: RoundResults,
    machine: Machine,
    interval_of: Interval = inference.median_interval,
) -> Finding:
    """Return the finding. The interval decides: within the bounds, outside them, or across one.

    interval_of: computes it from the figures of all rounds.
    """
    if reason := obstacle(claim, machine):
        return Finding(claim, Verdict.ELSEWHERE, f"{reason[:1].upper()}{reason[1:]}.")
    assert claim.own is not None
    by_point = [_figures_at(claim, results, point) for point in claim.points]
    complete = set.intersection(*(set(values) for values in by_point))
    values = [
        math.exp(statistics.fmean(math.log(values[round_number]) for values in by_point))
        for round_number in sorted(complete)
    ]
    if not values:
        return Finding(claim, Verdict.OPEN, _missing_figures(claim, results))
    median = statistics.median(values)
    sides = _sides(claim, results)
    interval = interval_of(values)
    if interval is None:
        why = f"{_sides_text(claim, sides)}{_few(len(values))}"
        return Finding(claim, Verdict.OPEN, why, median, values=tuple(values), sides=sides)
    verdict = judge(*interval, claim.least, claim.most)
    why = _sides_text(claim, sides) + _reason(verdict, claim, *interval)
    return Finding(claim, verdict, why, median, *interval, tuple(values), sides)


def _few(rounds: int) -> str:
    gave = "One round gave a figure" if rounds == 1 else f"{rounds} rounds gave a figure"
    return f"{gave}, and an interval takes six."


def judge(low: float, high: float, least: float | None, most: float | None) -> Verdict:
    """Return the verdict of an interval by the bounds; None for no bound."""
    if (least is not None and high < least) or (most is not None and low > most):
        return Verdict.FAILS
    if (least is None or low >= least) and (most is None or high <= most):
        return Verdict.HOLDS
    return Verdict.OPEN


def _figures_at(claim: Claim, results: RoundResults, point: Options) -> dict[int, float]:
    """Return the figure at one point, by round."""
    assert claim.own is not None
    own = _side_figures(claim, results, claim.own, point)
    if claim.other is None:
        return own
    other = _side_figures(claim, results, claim.other, point)
    return {
        round_number: own[round_number] / other[round_number]
        for round_number in own.keys() & other.keys()
    }


def _side_figures(
    claim: Claim, results: RoundResults, side: Side, point: Options
) -> dict[int, float]:
    """Return the statistic of one side by round; values that are not positive are left out."""
    found = [
        {
            round_number: figure
            for round_number, figure in results.over_rounds(one, claim.what.value).items()
            if figure > 0
        }
        for one in claim.cases_of(side, point)
    ]
    if len(found) > 1 and side.of == Of.MEAN:
        common = set.intersection(*(set(figures) for figures in found))
        return {
            round_number: statistics.fmean(figures[round_number] for figures in found)
            for round_number in common
        }
    known = [figures for figures in found if figures]
    if not known:
        return {}
    pick = min if claim.what.lower_is_better else max
    # The best median, and not the best of each round, which is biased.
    return pick(known, key=lambda figures: statistics.median(figures.values()))


def _sides(claim: Claim, results: RoundResults) -> tuple[float, ...]:
    if len(claim.points) > 1:
        return ()
    found = [_side_figures(claim, results, side, claim.points[0]) for side in claim.sides]
    return tuple(statistics.median(figures.values()) for figures in found if figures)


def _sides_text(claim: Claim, sides: Sequence[float]) -> str:
    """Return the prefix of the reason, `mcs-spin 312 op/s, mcs-stp 1,204,332 op/s. `."""
    figures = [
        f"{side.name} {plain(figure)} {claim.what.heading}"
        for side, figure in zip(claim.sides, sides, strict=False)
    ]
    return f"{', '.join(figures)}. " if figures else ""


def _bounds(claim: Claim) -> str:
    least, most = claim.least, claim.most
    if least is not None and most is not None:
        return f"from {least:g} to {most:g}"
    return f"above {least:g}" if least is not None else f"below {most:g}"


def _reason(verdict: Verdict, claim: Claim, low: float, high: float) -> str:
    interval = f"the 95 % interval, {plain(low)} to {plain(high)},"
    match verdict:
        case Verdict.HOLDS:
            end = f"lies {_bounds(claim)}, as the claim requires."
        case Verdict.FAILS:
            end = f"lies outside the bounds of the claim, {_bounds(claim)}."
        case _:
            end = f"is neither within nor outside the bounds of the claim, {_bounds(claim)}."
    return f"{interval[:1].upper()}{interval[1:]} {end}"


def _missing_figures(claim: Claim, results: RoundResults) -> str:
    without = [
        one.label() for one in claim.cases() if not results.over_rounds(one, claim.what.value)
    ]
    if not without:
        return "No round gave a figure above 0 for all cases of the claim."
    more = f" and {len(without) - 1} more" if len(without) > 1 else ""
    return f"No run gave '{claim.what.heading}': {without[0]}{more}."
