"""The locks that gain in simulations of a profiled program, and do no harm with more threads."""

from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.advise import traits
from lockwright.predict import profiled_machine, ranking
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
from lockwright.predict.prepare import prepare
from lockwright.predict.ranking import Prediction
from lockwright.predict.simulations import (
    QUICK_STEPS,
    Point,
    Progress,
    Settings,
    job,
    points_for,
    simulate,
    unseen,
)
from lockwright.preload import locks
from lockwright.profile.record import Profile
from lockwright.simulate import run
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell

GAIN = 1.05
"""Least predicted gain of a lock that is named: up to 5 % two locks count as equal."""

DEFAULT_LOW = 0.9
"""Least gain of the default lock in any simulation, where other locks need 1: simulations of a
preempted holder vary by more than its measured throughput does."""

HARMLESS = 0.95
"""Least predicted gain with CROWDED times the threads."""

CROWDED = 4
"""Factor of the number of threads in the second condition: a program is seldom alone."""

_CROWDED_POINTS = 2
"""Points of each simulation with more threads."""

_FINALISTS = 6
"""Most locks that are simulated with more threads."""

TIMEOUT = 5.0
"""Seconds of each simulation."""


def quick(timeout: float = TIMEOUT, progress: Progress = unseen) -> Settings:
    """Return the settings of predictions that take seconds: those of `what-if` by default."""
    return Settings(1, 1, None, QUICK_STEPS, timeout, progress)


@dataclass(frozen=True)
class Choice:
    """A lock that gains. gain: predicted throughput of the whole program, divided by that under the
    C library's mutex, in the conditions of the profile: the median over all simulations, and their
    least and greatest value; gain_crowded: the same with CROWDED times the threads."""

    name: str
    gain: float
    low: float
    high: float
    gain_crowded: float


def choose(
    profile: Profile, machine: Machine, *, timeout: float = TIMEOUT, progress: Progress = unseen
) -> tuple[Choice, ...]:
    """Return the locks that gain on a machine, the best first; the default lock precedes those that
    it is not told apart from; none where the model does not fit the profile. Raises LockwrightError
    if the profile does not suffice."""
    own = machine if profiled_machine.is_this(profile) else None
    settings = quick(timeout, progress)
    return of_models(profile, prepare(profile, machine, own, settings), settings)


def of_models(profile: Profile, header: Header, settings: Settings) -> tuple[Choice, ...]:
    """Return what choose() does for the models of a profile."""
    if header.misfit:
        return ()
    crowded = header.crowded(header.derived.model.threads, CROWDED)
    names = candidates(profile, header.machine.processors, crowded)
    at = points_for(header.derived.variants, header.machine, header.threads, settings)
    found = _simulate(at, names, header.threads, settings)
    default = locks.registry().default.name
    gaining = [each.lock for each in found if _gains(each, default)]
    if not gaining:
        return ()
    finalists = list(dict.fromkeys([*gaining[:_FINALISTS], default]))
    again = _simulate(at[:_CROWDED_POINTS], finalists, crowded, settings)
    chosen = named(found, again, default)
    # Beside other programs a lock's rate depends on how many of its waiters can run, which decides
    # the share of the processors: threads in place of those programs do not show it.
    lacks = profile.process.pressure > 1
    return () if lacks and default not in [each.name for each in chosen] else chosen


def candidates(profile: Profile, processors: int, crowded: int) -> list[str]:
    """Return the locks to simulate. crowded: the most threads. Waiters that never park are left out
    where these have no processor each: other load stops holders, which no profile predicts."""
    simulated = run.catalogue().locks
    by_priority = bool(profile.process.realtime)
    return [
        lock.name
        for lock in locks.registry()
        if lock.name in simulated
        and lock.name != BASELINE
        and (lock.parking or crowded <= processors)
        and (traits.serves_by_priority(lock) or not by_priority)
    ]


def is_gain(ratio: Estimate | None, low: float = 1.0, least: float = GAIN) -> bool:
    """Return whether the throughput is `least` or more, and `low` or more in every simulation."""
    return ratio is not None and ratio.value >= least and ratio.low >= low


def _gains(prediction: Prediction, default: str) -> bool:
    return is_gain(prediction.ratio, DEFAULT_LOW if prediction.lock == default else 1.0)


def _may_precede(prediction: Prediction, last: int, default: str) -> bool:
    """Return whether it is of the default lock, which is not told apart from the best of those that
    gain, and not predicted to lose. last: the last rank that the best may have."""
    return (
        prediction.lock == default
        and prediction.first <= last
        and is_gain(prediction.ratio, DEFAULT_LOW, least=1.0)
    )


def named(
    found: Sequence[Prediction], crowded: Sequence[Prediction], default: str
) -> tuple[Choice, ...]:
    """Return the locks that gain in the conditions of the profile and do no harm in the others, the
    default one first unless the best is told apart from it. found: the best first."""
    after = {each.lock: each.ratio.value for each in crowded if each.ratio is not None}
    harmless = [each for each in found if after.get(each.lock, 0.0) >= HARMLESS]
    gaining = [each for each in harmless if _gains(each, default)]
    if not gaining:
        return ()
    last = min(each.last for each in gaining)
    first = [each for each in harmless if _may_precede(each, last, default)]
    return tuple(
        Choice(each.lock, each.ratio.value, each.ratio.low, each.ratio.high, after[each.lock])
        for each in (*first, *(each for each in gaining if each not in first))
        if each.ratio is not None
    )


def _simulate(
    at: Sequence[Point], names: Sequence[str], threads: int, settings: Settings
) -> list[Prediction]:
    cells = [Cell(name, threads) for name in (BASELINE, *names)]
    jobs = {
        (index, cell): job(point, point.variant.model, cell, settings.seconds, settings.steps)
        for index, point in enumerate(at)
        for cell in cells
    }
    outcomes = simulate(jobs, settings.timeout, settings.progress, lambda key: key[1])
    return ranking.rank(outcomes, at, threads)
