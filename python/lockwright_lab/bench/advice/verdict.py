"""Whether the named locks harm in a cell, and whether one of them is near the best."""

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


def against(ratio: Ratio | None, bound: float) -> str:
    """Return whether a ratio is at least the bound: SHOWN, BELOW, or OPEN if its interval, or the
    lack of one, leaves that open."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return OPEN
    return BELOW if ratio.high < bound else SHOWN if ratio.low >= bound else OPEN


def ratio_of(runs: Runs, cell: str, lock: str, other: str = BASELINE) -> Ratio | None:
    """Return the ratio of a lock's rate to another's, over the rounds that have both; 1 for the
    other itself. A run that was ended at its limit counts with the rate that it has at most."""
    if lock == other:
        return _UNIT
    base = {
        run.round: run for run in runs.of(cell, other, counted=True) if RATE.name in run.figures
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
class Verdict:
    """The result of a cell. named, former: the locks that the advice and the former rules name;
    ratios: to BASELINE, of the locks that have one, by name."""

    cell: str
    named: Sequence[str]
    former: Sequence[str]
    ratios: dict[str, Ratio]

    def first(self, *, former: bool = False) -> str:
        """The first named lock; BASELINE where none is named, for it is what the user keeps."""
        names = self.former if former else self.named
        return names[0] if names else BASELINE

    def of_first(self, *, former: bool = False) -> Ratio | None:
        """Return the ratio of the first named lock."""
        return self.ratios.get(self.first(former=former))

    @property
    def best(self) -> str:
        """The lock with the highest ratio."""
        return max(self.ratios, key=lambda lock: self.ratios[lock].value)

    @property
    def gains(self) -> bool:
        """True if the best lock gains, and its interval is above 1."""
        best = self.ratios[self.best]
        return best.value >= GAIN and best.low is not None and best.low > 1

    def nearest(self, *, former: bool = False) -> str:
        """The better one of the first two named locks; BASELINE where none is named."""
        names = (self.former if former else self.named)[:2]
        known = [name for name in names if name in self.ratios]
        return max(known, key=lambda lock: self.ratios[lock].value, default=BASELINE)

    def is_near(self, *, former: bool = False) -> bool:
        """Return whether one of the first two named locks is near the best."""
        nearest = self.ratios.get(self.nearest(former=former), _UNIT)
        return nearest.value >= NEAR * self.ratios[self.best].value

    def undecided(self, runs: Runs) -> set[str]:
        """Return the locks to run again: those whose runs leave open whether the first named lock
        harms, whether the best one gains, or whether a named one is near it."""
        again: set[str] = set()
        if self.first() != BASELINE and against(self.of_first(), HARMLESS) == OPEN:
            again |= {BASELINE, self.first()}
        if self.ratios[self.best].value >= GAIN:
            if against(self.ratios[self.best], 1.0) == OPEN:
                again |= {BASELINE, self.best}
            elif against(ratio_of(runs, self.cell, self.nearest(), self.best), NEAR) == OPEN:
                again |= {BASELINE, self.best, self.nearest()}
        return again


def verdict(
    runs: Runs, cell: str, locks: Sequence[str], named: Sequence[str], former: Sequence[str]
) -> Verdict | None:
    """Return the result of a cell; None before its first run. locks: all that run there."""
    if not any(RATE.name in run.figures for run in runs.of(cell, BASELINE)):
        return None
    ratios = {lock: ratio_of(runs, cell, lock) for lock in locks}
    return Verdict(cell, named, former, {k: v for k, v in ratios.items() if v is not None})


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
    gaining = [each for each in verdicts if each.gains]

    def counted(bound: float) -> dict[str, int]:
        found = [against(each, bound) for each in firsts]
        return {word: found.count(word) for word in (SHOWN, OPEN, BELOW)}

    near = sum(each.is_near(former=former) for each in gaining)
    return Shares(len(verdicts), counted(HARMLESS), counted(SEVERE), len(gaining), near)
