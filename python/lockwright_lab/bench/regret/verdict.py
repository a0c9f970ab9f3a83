"""The figures of a cell of the grid from its runs, and those of a grid from its cells."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.experiment import Run, Runs
from lockwright.experiment.declaration import GIVE_UP
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio
from lockwright.stats.near import HARM, TOLERANCE

from lockwright_lab.bench.regret import choice
from lockwright_lab.bench.regret.choice import Regret
from lockwright_lab.bench.regret.contenders import Contest
from lockwright_lab.bench.regret.grid import Load
from lockwright_lab.bench.regret.step import Samples, settling_time

CLOSE, NEAR = TOLERANCE, HARM
"""Regrets that a lock for all cases should not exceed in most cells, and in any cell."""


@dataclass(frozen=True)
class Verdict:
    """The figures of the lock under test under a load.

    survives: it did not fail there. unbounded: no lock was within the bound on waits, so any may
    be best. regret: None without runs to compare. to_baseline: its rate over the baseline's.
    longest, baseline_longest: medians over the runs of the longest wait, in seconds. processors:
    its processor time over the baseline's. changes: the regime changes in mid-run. settled: seconds
    from the change until its rate is within 5 % of the best lock's, None if it never is. others:
    mean share of the processors that other programs used. ablated: by tunable, the rate with its
    mechanism over the rate without.
    """

    load: Load
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


def judge(load: Load, contest: Contest, runs: Runs, bound_ms: float) -> Verdict | None:
    """Return the verdict of a load; None if the lock under test has not run in it. runs: have the
    figures `rate` in acquisitions per second, `longest`, the longest wait in seconds, and
    `processors`, the processor time per second."""
    found = _Found(load, runs)
    own = contest.own.name
    if not runs.of(load.name, own):
        return None
    others = found.share_of_others([each.name for each in contest.all])
    rates = found.of(own, "rate")
    if found.gave_up(own) or not rates:
        return Verdict(load, len(rates), survives=False, others=others)
    other_rates = {
        each.name: found.of(each.name, "rate")
        for each in contest.others
        if not found.gave_up(each.name)
    }
    bound = load.longest_wait(bound_ms)
    allowed = [found.within(list(other_rates), bound, half) for half in (0, 1)]
    unbounded = not all(allowed)
    if unbounded:
        allowed = [list(other_rates)] * 2
    regret = choice.regret(rates, other_rates, allowed)
    waits, base_waits = found.of(own, "longest"), found.of(BASELINE, "longest")
    ablated = {
        name: ratio
        for name, each in contest.ablated.items()
        if (ratio := choice.paired(rates, found.of(each.name, "rate"))) is not None
    }
    return Verdict(
        load,
        len(rates),
        survives=True,
        unbounded=unbounded,
        regret=regret,
        to_baseline=choice.paired(rates, found.of(BASELINE, "rate")),
        longest=statistics.median(waits.values()),
        baseline_longest=statistics.median(base_waits.values()) if base_waits else None,
        processors=choice.paired(found.of(own, "processors"), found.of(BASELINE, "processors")),
        changes=load.changes_once,
        settled=found.settled(own, regret) if load.changes_once and regret is not None else None,
        others=others,
        ablated=ablated or None,
    )


@dataclass(frozen=True)
class _Found:
    """The runs of a load."""

    load: Load
    runs: Runs

    def finished(self, name: str) -> list[Run]:
        """Return the runs of a contender that made an acquisition."""
        made = self.runs.of(self.load.name, name)
        return [run for run in made if run.finished and run.figures["rate"]]

    def of(self, name: str, figure: str) -> dict[int, float]:
        """Return a figure of these runs by round."""
        return {run.round: run.figures[figure] for run in self.finished(name)}

    def gave_up(self, name: str) -> bool:
        """Return True if a contender failed so often that it does not survive the load."""
        made = self.runs.of(self.load.name, name)
        return sum(not run.finished for run in made) >= GIVE_UP

    def within(self, names: Sequence[str], bound: float, half: int) -> list[str]:
        """Return the locks whose longest wait, in the median run of that half, is within the
        bound."""
        allowed = []
        for name in names:
            waits = choice.half_of(self.of(name, "longest"), half)
            if waits and statistics.median(waits.values()) <= bound:
                allowed.append(name)
        return allowed

    def share_of_others(self, names: Sequence[str]) -> float | None:
        """Return the mean share of the processors that other programs used."""
        made = [run.others for name in names for run in self.runs.of(self.load.name, name)]
        known = [share for share in made if share is not None]
        return statistics.fmean(known) if known else None

    def settled(self, own: str, regret: Regret) -> float | None:
        """Return the time to settle after the change of regime."""

        def samples(name: str) -> list[Samples]:
            made = (run.details.get("samples") for run in self.finished(name))
            return [each for each in made if each]

        return settling_time(samples(own), [each for name in regret.best for each in samples(name)])


@dataclass(frozen=True)
class Summary:
    """The figures of a grid, of the cells in which the lock failed or was compared.

    failed: number of cells in which it failed, which count as lost. close, near: shares of the
    cells with a regret of at most CLOSE and NEAR. shown: number of cells whose regret is shown to
    be above CLOSE. worst: the cell of the largest regret. slower: number of cells shown to be
    slower than the baseline. lost: by winner, the number of cells above CLOSE. waits, times:
    medians over the cells of the longest wait and the processor time, over the baseline's.
    """

    cells: int
    failed: int
    close: float
    near: float
    shown: int
    worst: Verdict | None
    slower: int
    lost: Mapping[str, int]
    waits: float | None
    times: float | None


def summarise(verdicts: Sequence[Verdict]) -> Summary:
    """Return the summary of some verdicts."""
    judged = [each for each in verdicts if each.regret is not None or not each.survives]
    regrets = {each.load.name: each.regret for each in judged if each.regret is not None}
    winners = (
        each.winner if each.survives else "(it failed)" for each in judged if not each.within(CLOSE)
    )
    waits = [
        each.longest / each.baseline_longest
        for each in judged
        if each.longest is not None and each.baseline_longest
    ]
    times = [each.processors.value for each in judged if each.processors is not None]
    compared = [each for each in judged if each.regret is not None]
    count = max(1, len(judged))
    return Summary(
        len(judged),
        sum(not each.survives for each in judged),
        sum(each.within(CLOSE) for each in judged) / count,
        sum(each.within(NEAR) for each in judged) / count,
        sum((each.low or 0.0) > CLOSE for each in regrets.values()),
        max(compared, key=lambda each: regrets[each.load.name].value, default=None),
        sum(bool(each.to_baseline and (each.to_baseline.high or 1.0) < 1) for each in judged),
        dict(Counter(winners).most_common()),
        statistics.median(waits) if waits else None,
        statistics.median(times) if times else None,
    )
