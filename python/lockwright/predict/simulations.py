"""The simulations behind a prediction: each model that agrees with a profile, on each end of the
machine's ranges, with several seeds."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lockwright.predict.derive import Variant
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Model, Role, mean
from lockwright.simulate.run import MODEL, Cell, Job, Line, Setup, run_jobs

STEPS = 20_000
"""Sections of all threads in a simulation, if these fit into its limits."""

QUICK_STEPS = 5_000
"""The same where an answer is wanted in seconds."""

_SHORTEST, _LONGEST = 0.001, 2.0
"""Limits on the simulated seconds."""

_SLICES = 20
"""Least time slices in a simulation of more threads than processors, unless these have more than
_MOST_STEPS sections, which would take seconds."""

_MOST_STEPS = 500_000

_BLOCKS = 20
"""Least length of a simulation, in sleeps of a thread, unless it is so much longer than its
sections need."""

_ACTIVE = 0.1
"""Least share of all sections of a role whose sleeps count in the length."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Point:
    """Assumptions of a simulation. Points of one prediction are compared pairwise."""

    variant: Variant
    machine: Machine
    seed: int
    label: str


@dataclass
class Outcomes(Generic[Key]):
    """The results of simulations by key, and the reasons for those that failed."""

    lines: dict[Key, Line] = field(default_factory=dict)
    failures: dict[Key, str] = field(default_factory=dict)


Progress = Callable[[int], AbstractContextManager[Callable[[str], None]]]
"""A display of the progress of so many simulations, whose function is called after each with its
description."""


@dataclass(frozen=True)
class Settings:
    """The simulations of a prediction. runs: seeds of each, from `seed` on; seconds: simulated,
    None for as many as `steps` sections take; timeout: seconds of each."""

    runs: int
    seed: int
    seconds: float | None
    steps: int
    timeout: float
    progress: Progress


_CROWDED_RUNS = 2
"""Least number of seeds where threads outnumber processors: which of them run when differs much."""


def points_for(
    variants: Sequence[Variant], machine: Machine, threads: int, settings: Settings
) -> list[Point]:
    """Return the points of simulations of so many threads."""
    runs = settings.runs
    if threads > machine.processors:
        runs = max(runs, _CROWDED_RUNS)
    return points(variants, machine, runs, settings.seed)


def points(variants: Sequence[Variant], machine: Machine, runs: int, seed: int) -> list[Point]:
    """Return the points. runs: seeds of each variant; each end of a range has one."""
    found = [
        Point(variant, machine, seed + number, f"{variant.label}, seed {seed + number}")
        for variant in variants
        for number in range(runs)
    ]
    found += [Point(variants[0], at_end, seed, label) for label, at_end in machine.range_ends()]
    return found


def rate_limit(model: Model, machine: Machine) -> float:
    """Return a bound of a model's sections per second: those of its threads without waiting, and
    those that its most used mutex admits."""
    threads = model.threads
    processors = min(1.0, machine.processors / threads)
    sections = [mean(mutex.section) for mutex in model.mutexes]
    free = 0.0
    shares = [0.0] * len(sections)
    for role in model.roles:
        total = sum(share for _, share in role.takes)
        section = sum(sections[index] * share for index, share in role.takes) / total
        cycle = (mean(role.gap) + section + 10.0) / processors + role.block_share * role.block_ns
        rate = role.threads / cycle
        free += rate
        for index, share in role.takes:
            shares[index] += rate * share / total
    # How often the most used mutex is wanted, in holders.
    most = max(
        share * section / mutex.instances
        for share, section, mutex in zip(shares, sections, model.mutexes, strict=True)
    )
    return 1e9 * free / max(1.0, most)


def length(model: Model, machine: Machine, steps: int) -> float:
    """Return the simulated seconds for so many sections of a model, within the limits."""
    limit = rate_limit(model, machine)
    seconds = steps / limit
    if model.threads > machine.processors:
        slices = _SLICES * machine.figures["kernel.slice_us"] / 1e6
        seconds = max(seconds, min(slices, _MOST_STEPS / limit))
    # Not the sleeps of a role that does little.
    longest = max(role.block_ns for role in model.roles if _is_active(model, role)) / 1e9
    of_blocks = min(_BLOCKS * longest, _BLOCKS * seconds)
    return min(_LONGEST, max(_SHORTEST, seconds, of_blocks))


def _is_active(model: Model, role: Role) -> bool:
    total = sum(each.sections for each in model.roles)
    return not total or role.sections >= _ACTIVE * total


def job(point: Point, model: Model, cell: Cell, seconds: float | None, steps: int = STEPS) -> Job:
    """Return a simulation of a model. seconds: simulated; None for as many as `steps` sections
    take."""
    simulated = seconds or length(model.with_threads(cell.threads), point.machine, steps)
    parameters = {"data-lines": str(point.variant.data_lines)}
    setup = Setup(point.machine, MODEL, parameters, simulated, point.seed % 2**53, model=model)
    return Job(setup, cell)


@contextmanager
def unseen(_number: int) -> Iterator[Callable[[str], None]]:
    """Show nothing."""
    yield lambda _about: None


def simulate(
    jobs: Mapping[Key, Job],
    timeout: float,
    progress: Progress = unseen,
    group: Callable[[Key], Hashable] = lambda key: key,
) -> Outcomes[Key]:
    """Simulate the jobs, those of many threads first, as many at a time as there are processors.
    group: after a failure in a group, which may take the whole `timeout`, its other jobs are left
    out."""
    outcomes: Outcomes[Key] = Outcomes()
    keys = {id(each): key for key, each in jobs.items()}
    failed = set()

    def is_wanted(each: Job) -> bool:
        if group(keys[id(each)]) not in failed:
            return True
        advance(each.cell.text)
        return False

    def store(ended: Job, line: Line | None, failure: str) -> None:
        key = keys[id(ended)]
        if line is None:
            outcomes.failures[key] = failure
            failed.add(group(key))
        else:
            outcomes.lines[key] = line
        advance(ended.cell.text)

    ordered = sorted(jobs.values(), key=lambda each: -each.cell.threads)
    with progress(len(jobs)) as advance:
        run_jobs(filter(is_wanted, ordered), timeout, store)
    return outcomes
