"""The locks that gain in simulations of a profiled program, and do no harm with more threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lockwright.advise import traits
from lockwright.predict import profiled_machine, ranking
from lockwright.predict.derive import Derived, derive
from lockwright.predict.estimate import Estimate
from lockwright.predict.fit import fit, unfitted
from lockwright.predict.ranking import Prediction
from lockwright.predict.simulations import Point, Progress, job, points, simulate, unseen
from lockwright.preload import locks
from lockwright.profile.record import Profile
from lockwright.simulate import run
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Cell

GAIN = 1.05
"""Least predicted gain of a lock that is named: up to 5 % two locks count as equal."""

HARMLESS = 0.95
"""Least predicted gain with CROWDED times the threads."""

CROWDED = 4
"""Factor of the number of threads in the second condition: a program is seldom alone."""

RUNS = 1
"""Seeds of each simulation."""

_CROWDED_RUNS = 2
"""The same where threads outnumber processors: which of them run when differs much."""

STEPS = 5_000
"""Sections of each simulation."""

TIMEOUT = 5.0
"""Seconds of each simulation."""

_FINALISTS = 6
"""Most locks that are simulated with more threads."""

_MOST_PRESSURE = 4.0
"""Largest factor of the threads that stands for lacking processors."""


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
    it is not told apart from. Raises LockwrightError if the profile does not suffice."""
    is_own = profiled_machine.is_this(profile)
    derived, machine, _ = models(profile, machine, is_own, timeout, progress)
    return of_models(profile, derived, machine, timeout, progress)


def models(
    profile: Profile, machine: Machine, is_own: bool, timeout: float, progress: Progress
) -> tuple[Derived, Machine, Estimate | None]:
    """Return the models of a profile, the machine to simulate them on, and their agreement with the
    profile. is_own: the profile is from that machine."""
    if not is_own:
        return unfitted(derive(profile, None, needs_waiting=False)), machine, None
    machine = profiled_machine.with_wakes(profile, machine)
    derived = derive(profile, machine, needs_waiting=False)
    fitted = fit(derived, machine, RUNS, 1, timeout, STEPS, progress)
    return fitted.derived, machine, fitted.agreement


def plain_points(derived: Derived, machine: Machine, threads: int) -> list[Point]:
    """Return the points of a quick prediction: without the ends of the machine's ranges."""
    runs = RUNS if threads <= machine.processors else _CROWDED_RUNS
    return [each for each in points(derived.variants, machine, runs, 1) if each.machine is machine]


def of_models(
    profile: Profile, derived: Derived, machine: Machine, timeout: float, progress: Progress
) -> tuple[Choice, ...]:
    """Return what choose() does for the models of a profile."""
    pressure = min(_MOST_PRESSURE, profile.process.pressure)
    threads = derived.model.times_the_threads(pressure)
    crowded = derived.model.times_the_threads(pressure * CROWDED)
    names = candidates(profile, machine.processors, crowded)
    at = plain_points(derived, machine, threads)
    found = _simulate(at, names, threads, timeout, progress)
    gaining = [each for each in found if is_gain(each.ratio)][:_FINALISTS]
    if not gaining:
        return ()
    again = _simulate(
        at[:_CROWDED_RUNS], [each.lock for each in gaining], crowded, timeout, progress
    )
    return named(found, again, locks.registry().default.name)


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


def is_gain(ratio: Estimate | None) -> bool:
    """Return whether the throughput is GAIN or more, and lower than before in no simulation."""
    return ratio is not None and ratio.value >= GAIN and ratio.low >= 1.0


def named(
    found: Sequence[Prediction], crowded: Sequence[Prediction], default: str
) -> tuple[Choice, ...]:
    """Return the locks that gain in the conditions of the profile and do no harm in the others.
    found: the best first."""
    after = {each.lock: each.ratio.value for each in crowded if each.ratio is not None}
    chosen = [
        Choice(each.lock, each.ratio.value, each.ratio.low, each.ratio.high, after[each.lock])
        for each in found
        if each.ratio is not None and is_gain(each.ratio)
        if after.get(each.lock, 0.0) >= HARMLESS
    ]
    return tuple(_default_first(chosen, {each.lock: each for each in found}, default))


def _default_first(
    chosen: Sequence[Choice], found: Mapping[str, Prediction], default: str
) -> list[Choice]:
    """Return the locks with the default one first, unless the best is told apart from it: their
    ranks overlap."""
    ranks = [found[each.name] for each in chosen]
    if default not in [each.lock for each in ranks]:
        return list(chosen)
    may_be_best = found[default].first <= min(each.last for each in ranks)
    return sorted(chosen, key=lambda each: not (may_be_best and each.name == default))


def _simulate(
    at: Sequence[Point], names: Sequence[str], threads: int, timeout: float, progress: Progress
) -> list[Prediction]:
    cells = [Cell(name, threads) for name in (BASELINE, *names)]
    jobs = {
        (index, cell): job(point, point.variant.model, cell, None, STEPS)
        for index, point in enumerate(at)
        for cell in cells
    }
    outcomes = simulate(jobs, timeout, progress, lambda key: key[1])
    return ranking.rank(outcomes, at, threads)
