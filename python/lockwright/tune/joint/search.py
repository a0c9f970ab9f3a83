"""The order of a joint search: races of single settings, of pairs, and the race that is the proof.

Each race is chosen by the runs of the races before it alone, so that an interrupted search takes
the same course again. The proof uses runs of its own race only: that a combination was picked
because it was best in earlier runs does not make its interval too good.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.preload.locks import BASELINE
from lockwright.stats.sequential import Interval
from lockwright.tune import race
from lockwright.tune.joint.arm import Arm
from lockwright.tune.joint.choices import is_possible
from lockwright.tune.outcome import Outcome
from lockwright.tune.race import RaceRuns

LOCKS, SINGLES, PAIRS, PROOF = "locks", "one at a time", "pairs", "proof"
"""The races of a search: of locks alone; of the best lock with one setting each; of pairs of
settings, and of other locks with a setting; and of the best combinations and their parts."""

SHARES = {LOCKS: 0.35, SINGLES: 0.25, PAIRS: 0.15, PROOF: 0.25}
"""The share of the budget of each race. What a race leaves is shared among the later ones."""

_LEADERS = {"allocator": 2}
"""Number of values of a dimension that are tried in pairs; 1 for the others."""

_MOST_PAIRS = 6
_MOST_RIVALS = 2
_FINALISTS = 2


@dataclass(frozen=True)
class Stage:
    """A race of the search. reference: the arm that ratios are relative to; kept: other arms that
    run to the end."""

    name: str
    arms: tuple[Arm, ...]
    reference: Arm
    kept: tuple[Arm, ...] = ()


@dataclass(frozen=True)
class Result:
    """A race with its runs so far. outcome: its table."""

    stage: Stage
    runs: RaceRuns
    outcome: Outcome

    def lead(self, arm: Arm, other: Arm) -> Interval:
        """Return the logarithm of the ratio of two arms, with the interval of their own runs or,
        where these are too few, that by the deviation of all arms. Without bounds if one of them
        is not in this race."""
        if not {arm, other} <= set(self.stage.arms):
            return Interval(0.0, -math.inf, math.inf, 0)
        own = self.runs.lead(arm.name, other.name)
        return own if math.isfinite(own.low) else self.runs.lead(arm.name, other.name, shared=True)

    def gain(self, arm: Arm) -> float:
        """Return the mean logarithm of the ratio to the reference; minus infinity without runs."""
        lead = self.lead(arm, self.stage.reference)
        return lead.mean if lead.number else -math.inf

    def is_out(self, arm: Arm) -> bool:
        """Return whether runs of an arm failed or did not end in time, or it is shown to be worse
        than the reference."""
        left = self.outcome.standing.dropped.get(arm.name)
        if left is not None and left.how in (race.FAILED, race.SLOW):
            return True
        return self.lead(arm, self.stage.reference).high < 0

    def combinations(self) -> list[Arm]:
        """Return the arms with settings whose mean is above the reference's, the best first."""
        arms = [arm for arm in self.stage.arms if arm.settings and not self.is_out(arm)]
        return sorted((arm for arm in arms if self.gain(arm) > 0), key=lambda arm: -self.gain(arm))


@dataclass(frozen=True)
class LockRace:
    """The result of the race of locks. best: the one shown to be better than the C library's mutex,
    or that mutex; leader: the leading one, shown or not; rivals: the next, the best first."""

    best: str = BASELINE
    leader: str = BASELINE
    rivals: tuple[str, ...] = ()


Attempt = Callable[[Stage], Result]
"""A function that carries out a race."""


@dataclass
class Search:
    """A search and its results so far. values: to try, by dimension."""

    values: Mapping[str, Sequence[str]]
    locks: LockRace
    results: list[Result] = field(default_factory=list)

    @property
    def base(self) -> Arm:
        """The best lock alone."""
        return Arm(self.locks.best)

    def carry_out(self, attempt: Attempt) -> None:
        """Make all races, of which the later ones depend on the earlier."""
        for stage in self.stages():
            self.results.append(attempt(stage))

    def stages(self) -> Iterator[Stage]:
        """Yield each race once the results of the one before are in `results`."""
        yield singles(self.base, self.values)
        stage = pairs(self.results[-1], self.values, self.locks)
        if stage is not None:
            yield stage
        finalists = self.results[-1].combinations()[:_FINALISTS]
        if finalists:
            yield proof(self.locks, finalists)

    def result(self, name: str) -> Result | None:
        """Return the result of a race; None if it was not made."""
        return next((each for each in self.results if each.stage.name == name), None)


def singles(base: Arm, values: Mapping[str, Sequence[str]]) -> Stage:
    """Return the race of the best lock alone and with each value of each dimension."""
    arms = [base.with_setting(name, value) for name, each in values.items() for value in each]
    return Stage(SINGLES, (base, *arms), base)


def pairs(first: Result, values: Mapping[str, Sequence[str]], locks: LockRace) -> Stage | None:
    """Return the race of pairs of the leading values of two dimensions, of all leading values
    together, and of other locks with the best setting; None if there are none. A value that is
    not shown to be worse alone is tried, too: it may help another one. first: of single values."""
    base = first.stage.reference
    leaders: dict[str, list[Arm]] = {}
    for name, words in values.items():
        arms = [base.with_setting(name, word) for word in words]
        usable = [arm for arm in arms if first.gain(arm) > -math.inf and not first.is_out(arm)]
        leaders[name] = sorted(usable, key=lambda arm: -first.gain(arm))[: _LEADERS.get(name, 1)]
    scored = [
        (first.gain(one) + first.gain(other), _joined(one, other))
        for left, right in itertools.combinations(leaders.values(), 2)
        for one, other in itertools.product(left, right)
    ]
    together = [arm for _, arm in sorted(scored, key=lambda each: -each[0])]
    best = first.combinations()
    leading = [arms[0] for arms in leaders.values() if arms and arms[0] in best]
    others = [together[:_MOST_PAIRS]]
    if len(leading) > 2:
        others.append([_joined(*leading)])
    rivals = [lock for lock in dict.fromkeys((*locks.rivals, BASELINE)) if lock != base.lock]
    others.append([arm.under(lock) for arm in best[:1] for lock in rivals[:_MOST_RIVALS]])
    arms = [arm for arm in itertools.chain(*others) if is_possible(arm.settings)]
    if not arms:
        return None
    return Stage(PAIRS, tuple(dict.fromkeys((base, *best[:_FINALISTS], *arms))), base)


def _joined(*arms: Arm) -> Arm:
    """Return the lock with the settings of all arms."""
    joined = arms[0]
    for arm in arms[1:]:
        for name, value in arm.settings.values.items():
            joined = joined.with_setting(name, value)
    return joined


def proof(locks: LockRace, finalists: Sequence[Arm]) -> Stage:
    """Return the race of the finalists, the locks alone, and the parts of the first finalist."""
    base, first = Arm(locks.best), finalists[0]
    alone = [base, Arm(), Arm(locks.leader), *(arm.alone for arm in finalists)]
    names = first.settings.values
    parts = [first.only(name) for name in names]
    parts += [first.under(BASELINE), *(part.under(BASELINE) for part in parts)]
    if first.lock != base.lock:
        parts.append(first.under(base.lock))
    plain = tuple(dict.fromkeys(alone))
    return Stage(PROOF, tuple(dict.fromkeys((*plain, *finalists, *parts))), base, plain[1:])
