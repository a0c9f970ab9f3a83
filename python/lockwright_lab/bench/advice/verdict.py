"""Whether the named locks harm in a cell, and whether one of them is near the best."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.experiment import TIMEOUT, Run, Runs
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio, paired_ratio

from lockwright_lab.bench.installed import RATE

HARMLESS, SEVERE, GAIN, NEAR = 0.95, 0.8, 1.1, 0.95
"""Least ratio to BASELINE of a lock that does not harm; below which it harms severely; from which a
lock gains; least share of the best lock's ratio that counts as near."""

SHOWN, OPEN, BELOW = "not below", "open", "below"
"""What the interval of a ratio says of a bound."""

_UNIT = Ratio(1.0, 1.0, 1.0, 0.0, 0)

_ALL = range(1, sys.maxsize)


def against(ratio: Ratio | None, bound: float) -> str:
    """Return whether a ratio is at least the bound: SHOWN, BELOW, or OPEN if its interval, or the
    lack of one, leaves that open."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return OPEN
    return BELOW if ratio.high < bound else SHOWN if ratio.low >= bound else OPEN


def ratio_of(
    runs: Runs, cell: str, lock: str, other: str = BASELINE, rounds: range = _ALL
) -> Ratio | None:
    """Return the ratio of a lock's rate to another's, over the rounds that have both; 1 for the
    other itself. A run that was ended at its limit counts with the rate that it has at most."""
    if lock == other:
        return _UNIT
    base = {
        run.round: run
        for run in runs.of(cell, other, counted=True)
        if RATE.name in run.figures and run.round in rounds
    }
    rates = {
        run.round: rate
        for run in runs.of(cell, lock, counted=True)
        if run.round in base and (rate := _rate(run, base[run.round])) is not None
    }
    paired = sorted(rates)
    bases = [base[number].figures[RATE.name] for number in paired]
    return paired_ratio([rates[number] for number in paired], bases, lower_is_better=False)


def _rate(run: Run, base: Run) -> float | None:
    if run.ended == TIMEOUT:
        return base.figures[RATE.name] * min(1.0, base.wall / run.wall)
    return run.figures.get(RATE.name)


@dataclass(frozen=True)
class Best:
    """The lock with the highest ratio in the first rounds, which all locks have. The best of
    several looks better by chance, so what it gains is that of the later rounds. ratio: to BASELINE
    in these; shares: those of BASELINE and of the named locks to it, by name; None without
    rounds."""

    lock: str
    first_ratio: float
    ratio: Ratio | None
    shares: dict[str, Ratio | None]

    @property
    def gains(self) -> bool:
        """True if it gains in the later rounds, with an interval above 1."""
        found = self.ratio
        return found is not None and found.value >= GAIN and against(found, 1.0) == SHOWN

    def is_near(self, lock: str) -> bool:
        """Return whether a named lock is near it."""
        share = self.shares.get(lock)
        return share is not None and share.value >= NEAR


@dataclass(frozen=True)
class Verdict:
    """The result of a cell. named, former: the locks that the advice and the former rules name;
    ratios: to BASELINE, of the locks that have one, by name."""

    named: Sequence[str]
    former: Sequence[str]
    ratios: dict[str, Ratio]
    best: Best

    def first(self, *, former: bool = False) -> str:
        """The first named lock; BASELINE where none is named, for it is what the user keeps."""
        names = self.former if former else self.named
        return names[0] if names else BASELINE

    def of_first(self, *, former: bool = False) -> Ratio | None:
        """Return the ratio of the first named lock."""
        return self.ratios.get(self.first(former=former))

    def is_near(self, *, former: bool = False) -> bool:
        """Return whether one of the first two named locks is near the best."""
        names = (self.former if former else self.named)[:2]
        return any(self.best.is_near(each) for each in names or [BASELINE])

    def undecided(self) -> set[str]:
        """Return the locks to run again: the first named lock while it is open whether it harms;
        the best one, if it may gain, and the named ones in all rounds, for to stop when an interval
        is above 1 would find gains by chance."""
        again: set[str] = set()
        if self.first() != BASELINE and against(self.of_first(), HARMLESS) == OPEN:
            again |= {BASELINE, self.first()}
        if self.best.first_ratio >= GAIN:
            again |= {self.best.lock, *self.best.shares}
        return again


def verdict(
    runs: Runs,
    cell: str,
    locks: Sequence[str],
    named: Sequence[str],
    former: Sequence[str],
    rounds: int,
) -> Verdict | None:
    """Return the result of a cell; None before its first run. locks: all that run there; rounds:
    the first ones, which all of them have."""
    if not any(RATE.name in run.figures for run in runs.of(cell, BASELINE)):
        return None

    def ratios(within: range) -> dict[str, Ratio]:
        found = {lock: ratio_of(runs, cell, lock, rounds=within) for lock in locks}
        return {lock: ratio for lock, ratio in found.items() if ratio is not None}

    early, later = ratios(range(1, rounds + 1)), range(rounds + 1, sys.maxsize)
    best = max(early, key=lambda lock: early[lock].value, default=BASELINE)
    ratio = ratio_of(runs, cell, best, rounds=later)
    others = (BASELINE, *named[:2], *former[:2])
    shares = {lock: ratio_of(runs, cell, lock, best, later) for lock in others}
    first_ratio = early[best].value if early else 1.0
    return Verdict(named, former, ratios(_ALL), Best(best, first_ratio, ratio, shares))


@dataclass(frozen=True)
class Shares:
    """Over the cells, of the advice or of the former rules. harmless, severe: number of cells by
    what `against` says of HARMLESS and SEVERE; gaining: cells in which a lock gains; near: those of
    them in which a named lock is near the best."""

    cells: int
    harmless: dict[str, int]
    severe: dict[str, int]
    gaining: int
    near: int


def shares(verdicts: Sequence[Verdict], *, former: bool = False) -> Shares:
    """Return the summary over the cells."""
    firsts = [each.of_first(former=former) for each in verdicts]
    gaining = [each for each in verdicts if each.best.gains]

    def counted(bound: float) -> dict[str, int]:
        found = [against(each, bound) for each in firsts]
        return {word: found.count(word) for word in (SHOWN, OPEN, BELOW)}

    near = sum(each.is_near(former=former) for each in gaining)
    return Shares(len(verdicts), counted(HARMLESS), counted(SEVERE), len(gaining), near)
