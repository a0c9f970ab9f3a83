"""Whether a claim holds, by the runs that were made for it."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lockwright.base.numbers import plain
from lockwright.bench.claims.claim import Claim, Of, Options, Side
from lockwright.bench.rounds import Seen
from lockwright.stats import inference


class Verdict(StrEnum):
    """What the runs say of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not shown"
    ELSEWHERE = "cannot be shown here"


@dataclass(frozen=True)
class Machine:
    """What a claim may need. no_energy: why there are no energy counters, "" where there are."""

    processors: int
    locks: frozenset[str]
    no_energy: str = ""


@dataclass(frozen=True)
class Finding:
    """What came of a claim: the figure's median over the rounds with its 95 % interval, and the
    verdict with the reason, a sentence. values: the figure of each round.
    sides: the median of each side's statistic, where it was measured at one point.
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
    """Why the claim cannot be shown on the machine; "" where it can."""
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
    seen: Seen,
    machine: Machine,
    interval_of: Interval = inference.median_interval,
) -> Finding:
    """The verdict. The interval decides: within the bounds, outside them, or across one of them.

    interval_of: makes it of the figures of all rounds.
    """
    if reason := obstacle(claim, machine):
        return Finding(claim, Verdict.ELSEWHERE, f"{reason[:1].upper()}{reason[1:]}.")
    assert claim.own is not None
    by_point = [_at(claim, seen, point) for point in claim.points]
    whole = set.intersection(*(set(values) for values in by_point))
    values = [
        math.exp(statistics.fmean(math.log(values[turn]) for values in by_point))
        for turn in sorted(whole)
    ]
    if not values:
        return Finding(claim, Verdict.OPEN, _nothing(claim, seen))
    median = statistics.median(values)
    sides = _sides(claim, seen)
    interval = interval_of(values)
    if interval is None:
        why = f"{_said(claim, sides)}{_few(len(values))}"
        return Finding(claim, Verdict.OPEN, why, median, values=tuple(values), sides=sides)
    verdict = judge(*interval, claim.least, claim.most)
    why = _said(claim, sides) + _because(verdict, claim, *interval)
    return Finding(claim, verdict, why, median, *interval, tuple(values), sides)


def _few(rounds: int) -> str:
    gave = "One round gave a figure" if rounds == 1 else f"{rounds} rounds gave a figure"
    return f"{gave}, and an interval takes six."


def judge(low: float, high: float, least: float | None, most: float | None) -> Verdict:
    """Where an interval lies to the bounds; None for a bound that there is not."""
    if (least is not None and high < least) or (most is not None and low > most):
        return Verdict.FAILS
    if (least is None or low >= least) and (most is None or high <= most):
        return Verdict.HOLDS
    return Verdict.OPEN


def _at(claim: Claim, seen: Seen, point: Options) -> dict[int, float]:
    """The figure at one point, of each round that has it."""
    assert claim.own is not None
    own = _of_side(claim, seen, claim.own, point)
    if claim.other is None:
        return own
    other = _of_side(claim, seen, claim.other, point)
    return {turn: own[turn] / other[turn] for turn in own.keys() & other.keys()}


def _of_side(claim: Claim, seen: Seen, side: Side, point: Options) -> dict[int, float]:
    """The statistic of one side, of each round that has it. What is not positive has no ratio."""
    found = [
        {
            turn: figure
            for turn, figure in seen.over_rounds(one, claim.what.value).items()
            if figure > 0
        }
        for one in claim.cases_of(side, point)
    ]
    if len(found) > 1 and side.of == Of.MEAN:
        whole = set.intersection(*(set(figures) for figures in found))
        return {turn: statistics.fmean(figures[turn] for figures in found) for turn in whole}
    known = [figures for figures in found if figures]
    if not known:
        return {}
    pick = min if claim.what.lower_is_better else max
    # The best by its median, not the luckiest of each round.
    return pick(known, key=lambda figures: statistics.median(figures.values()))


def _sides(claim: Claim, seen: Seen) -> tuple[float, ...]:
    if len(claim.points) > 1:
        return ()
    found = [_of_side(claim, seen, side, claim.points[0]) for side in claim.sides]
    return tuple(statistics.median(figures.values()) for figures in found if figures)


def _said(claim: Claim, sides: Sequence[float]) -> str:
    """`mcs-spin 312 op/s, mcs-stp 1,204,332 op/s: ` in front of the reason."""
    named = [
        f"{side.name} {plain(figure)} {claim.what.heading}"
        for side, figure in zip(claim.sides, sides, strict=False)
    ]
    return f"{', '.join(named)}. " if named else ""


def _bounds(claim: Claim) -> str:
    least, most = claim.least, claim.most
    if least is not None and most is not None:
        return f"from {least:g} to {most:g}"
    return f"above {least:g}" if least is not None else f"below {most:g}"


def _because(verdict: Verdict, claim: Claim, low: float, high: float) -> str:
    interval = f"the 95 % interval, {plain(low)} to {plain(high)},"
    match verdict:
        case Verdict.HOLDS:
            end = f"lies {_bounds(claim)}, as the claim has it."
        case Verdict.FAILS:
            end = f"lies outside of what the claim needs, {_bounds(claim)}."
        case _:
            end = f"is neither within nor outside of what the claim needs, {_bounds(claim)}."
    return f"{interval[:1].upper()}{interval[1:]} {end}"


def _nothing(claim: Claim, seen: Seen) -> str:
    without = [one.label() for one in claim.cases() if not seen.over_rounds(one, claim.what.value)]
    if not without:
        return "No round gave a figure above 0 for all that it takes."
    more = f" and {len(without) - 1} more" if len(without) > 1 else ""
    return f"No run gave '{claim.what.heading}': {without[0]}{more}."
