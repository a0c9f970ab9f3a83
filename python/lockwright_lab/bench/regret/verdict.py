"""The figures of a cell from its runs, and those of a grid from its cells."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio
from lockwright.stats.near import HARM, TOLERANCE

from lockwright_lab.bench.regret import choice
from lockwright_lab.bench.regret.choice import Regret
from lockwright_lab.bench.regret.contenders import Contest
from lockwright_lab.bench.regret.grid import Cell
from lockwright_lab.bench.regret.runs import Runs
from lockwright_lab.bench.regret.step import settling_time

CLOSE, NEAR = TOLERANCE, HARM
"""Regrets that a lock for all cases should not exceed in most cells, and in any cell."""

COSTLY = 0.1
"""Processor time above the baseline's that such a lock should not exceed."""


@dataclass(frozen=True)
class Verdict:
    """The figures of the lock under test in a cell.

    survives: it did not fail there. unbounded: no lock was within the bound on waits, so any may
    be best. regret: None without runs to compare. to_baseline: its rate over the baseline's.
    longest, baseline_longest: medians over the runs of the longest wait, in seconds. processors:
    its processor time over the baseline's. changes: the regime changes in mid-run. settled: seconds
    from the change until its rate is within 5 % of the best lock's, None if it never is. others:
    mean share of the processors that other programs used. ablated: by tunable, the rate with its
    mechanism over the rate without.
    """

    cell: Cell
    rounds: int
    survives: bool
    unbounded: bool = False
    regret: Regret | None = None
    to_baseline: Ratio | None = None
    longest: float | None = None
    baseline_longest: float | None = None
    processors: Ratio | None = None
    changes: bool = False
    settled: float | None = None
    others: float | None = None
    ablated: Mapping[str, Ratio] | None = None

    @property
    def winner(self) -> str:
        """The locks chosen as best, `-` if none was."""
        return "-" if self.regret is None else " / ".join(dict.fromkeys(self.regret.best))

    def within(self, limit: float) -> bool:
        """Return True if the regret is at most `limit`."""
        return self.survives and self.regret is not None and self.regret.value <= limit


def judge(cell: Cell, contest: Contest, runs: Runs, bound_ms: float) -> Verdict | None:
    """Return the verdict of a cell; None if the lock under test has not run in it."""
    own = contest.own.name
    if not runs.made(cell.name, own):
        return None
    others = _share_of_others(runs, cell, contest)
    rates = runs.figure(cell.name, own, lambda run: run.rate)
    if runs.gave_up(cell.name, own) or not rates:
        return Verdict(cell, len(rates), survives=False, others=others)
    other_rates = {
        each.name: runs.figure(cell.name, each.name, lambda run: run.rate)
        for each in contest.others
        if not runs.gave_up(cell.name, each.name)
    }
    allowed = [_allowed(cell, list(other_rates), runs, bound_ms, half) for half in (0, 1)]
    unbounded = not all(allowed)
    if unbounded:
        allowed = [list(other_rates)] * 2
    regret = choice.regret(rates, other_rates, allowed)
    own_runs = runs.of(cell.name, own)
    base = runs.of(cell.name, BASELINE)
    return Verdict(
        cell,
        len(rates),
        survives=True,
        unbounded=unbounded,
        regret=regret,
        to_baseline=choice.paired(rates, {n: run.rate for n, run in base.items()}),
        longest=statistics.median(run.longest for run in own_runs.values()),
        baseline_longest=statistics.median(run.longest for run in base.values()) if base else None,
        processors=choice.paired(
            {n: run.processors for n, run in own_runs.items()},
            {n: run.processors for n, run in base.items()},
        ),
        changes=cell.changes_once,
        settled=_settled(cell, own, regret, runs),
        others=others,
        ablated=_ablated(cell, contest, runs, rates),
    )


def _allowed(cell: Cell, names: Sequence[str], runs: Runs, bound_ms: float, half: int) -> list[str]:
    """Return the locks whose longest wait, in the median run of that half, is within the bound."""
    bound = cell.longest_wait(bound_ms)
    allowed = []
    for name in names:
        waits = choice.half_of(runs.figure(cell.name, name, lambda run: run.longest), half)
        if waits and statistics.median(waits.values()) <= bound:
            allowed.append(name)
    return allowed


def _share_of_others(runs: Runs, cell: Cell, contest: Contest) -> float | None:
    """Return the mean share of the processors that other programs used in a cell."""
    known = [
        run.others
        for each in contest.all
        for run in runs.made(cell.name, each.name).values()
        if run.others is not None
    ]
    return statistics.fmean(known) if known else None


def _settled(cell: Cell, own: str, regret: Regret | None, runs: Runs) -> float | None:
    if not cell.changes_once or regret is None:
        return None
    of_own = [run.samples for run in runs.of(cell.name, own).values() if run.samples]
    best = [
        run.samples
        for name in regret.best
        for run in runs.of(cell.name, name).values()
        if run.samples
    ]
    return settling_time(of_own, best)


def _ablated(
    cell: Cell, contest: Contest, runs: Runs, rates: choice.Rates
) -> dict[str, Ratio] | None:
    ratios: dict[str, Ratio] = {}
    for each in contest.ablated:
        without = runs.figure(cell.name, each.name, lambda run: run.rate)
        if (ratio := choice.paired(rates, without)) is not None:
            ratios[each.without] = ratio
    return ratios or None


@dataclass(frozen=True)
class Summary:
    """The figures of a grid.

    close, near: shares of the cells with a regret of at most CLOSE and NEAR. shown: number of cells
    whose regret is shown to be above CLOSE. slower: number of cells shown to be slower than the
    baseline. lost: by winner, the number of cells above CLOSE. waits, times: medians over the cells
    of the longest wait and the processor time, over the baseline's. costly: number of cells with a
    processor time shown to be COSTLY above it. changes: the cells whose regime changes in mid-run.
    """

    cells: int
    failed: int
    close: float
    near: float
    shown: int
    worst: Verdict | None
    slower: int
    least_to_baseline: Verdict | None
    lost: Mapping[str, int]
    waits: float | None
    times: float | None
    costly: int
    changes: Sequence[Verdict]


def summarise(verdicts: Sequence[Verdict]) -> Summary:
    """Return the summary of some verdicts; a cell that the lock does not survive counts as lost."""
    judged = [each for each in verdicts if each.regret is not None or not each.survives]
    compared = [each for each in judged if each.regret is not None]
    based = [each for each in judged if each.to_baseline is not None]
    lost: dict[str, int] = {}
    for each in judged:
        if not each.within(CLOSE):
            name = each.winner if each.survives else "(it failed)"
            lost[name] = lost.get(name, 0) + 1
    count = max(1, len(judged))
    waits = [
        each.longest / each.baseline_longest
        for each in based
        if each.longest is not None and each.baseline_longest
    ]
    times = [each.processors for each in based if each.processors is not None]
    return Summary(
        len(judged),
        sum(not each.survives for each in judged),
        sum(each.within(CLOSE) for each in judged) / count,
        sum(each.within(NEAR) for each in judged) / count,
        sum((_low(each) or 0.0) > CLOSE for each in compared),
        max(compared, key=lambda each: each.regret.value if each.regret else 0.0, default=None),
        sum(bool(each.to_baseline and (each.to_baseline.high or 1.0) < 1) for each in based),
        min(based, key=lambda e: e.to_baseline.value if e.to_baseline else 0.0, default=None),
        dict(sorted(lost.items(), key=lambda item: -item[1])),
        statistics.median(waits) if waits else None,
        statistics.median(each.value for each in times) if times else None,
        sum((each.low or 0.0) > 1 + COSTLY for each in times),
        [each for each in compared if each.changes],
    )


def _low(verdict: Verdict) -> float | None:
    return None if verdict.regret is None else verdict.regret.low
