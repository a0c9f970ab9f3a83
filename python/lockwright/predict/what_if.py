"""The predicted effect of changes of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.predict import progress
from lockwright.predict.changes import Change
from lockwright.predict.estimate import Estimate, estimate
from lockwright.predict.header import Header
from lockwright.predict.simulations import (
    Outcomes,
    Point,
    Settings,
    job,
    points_for,
    simulate,
)
from lockwright.simulate.figures import BASELINE, figures, integers
from lockwright.simulate.model import Model
from lockwright.simulate.run import Cell, Job, Line

Key = tuple[int, int]
"""The index of a point, and that of a change plus one; 0 for the program as it is."""


@dataclass(frozen=True)
class Effect:
    """The predicted effect of a change. throughput: of the whole program, divided by that without
    the change; tail: the same of the 99th percentile of an acquisition's duration; None where that
    is 0 before. failure: why there is none, or ""."""

    change: Change
    throughput: Estimate | None
    tail: Estimate | None
    failure: str = ""


def predict(header: Header, changes: Sequence[Change], settings: Settings) -> list[Effect]:
    """Simulate the program as it is and after each change alone, in the conditions of the profile
    under the C library's mutex. Returns the effect of each, that with the largest throughput
    first."""
    at = points_for(header.derived.variants, header.machine, header.threads, settings)
    jobs = _jobs(header, at, changes, settings)
    outcomes = simulate(jobs, settings.timeout, settings.progress, lambda key: key[1])
    return _effects(outcomes, at, changes)


def _jobs(
    header: Header, points: Sequence[Point], changes: Sequence[Change], settings: Settings
) -> dict[Key, Job]:
    found = {}
    for index, point in enumerate(points):
        cell = Cell(BASELINE, header.threads)
        found[index, 0] = job(point, point.variant.model, cell, settings.seconds, settings.steps)
        for number, change in enumerate(changes, 1):
            changed = replace(point, variant=change.applied(point.variant))
            threads = header.crowded(change.threads) if change.threads else header.threads
            cell = Cell(change.lock or BASELINE, threads)
            found[index, number] = job(
                changed, changed.variant.model, cell, settings.seconds, settings.steps
            )
    return found


def _effects(
    outcomes: Outcomes[Key], points: Sequence[Point], changes: Sequence[Change]
) -> list[Effect]:
    values = {}
    for (index, number), line in outcomes.lines.items():
        model = points[index].variant.model
        if number:
            model = changes[number - 1].apply(model)
        values[index, number] = _values(model, line)
    found = [_effect(values, outcomes, number, each) for number, each in enumerate(changes, 1)]
    return sorted(found, key=lambda each: -(each.throughput.value if each.throughput else 0.0))


def _values(model: Model, line: Line) -> Mapping[str, float]:
    threads = len(integers(line, "per_thread"))
    throughput = progress.rate(model.with_threads(threads), line)
    return {"throughput": throughput, "tail": figures(line)["wait_p99_ns"]}


def _effect(
    values: Mapping[Key, Mapping[str, float]], outcomes: Outcomes[Key], number: int, change: Change
) -> Effect:
    failures = [what for key, what in outcomes.failures.items() if key[1] in (0, number)]
    if failures:
        return Effect(change, None, None, failures[0])
    ratios: dict[str, list[float]] = {"throughput": [], "tail": []}
    for (index, of_change), after in values.items():
        before = values.get((index, 0))
        if of_change == number and before is not None:
            for name, of_name in ratios.items():
                if before[name]:
                    factor = change.sections if name == "throughput" else 1.0
                    of_name.append(factor * after[name] / before[name])
    return Effect(change, estimate(ratios["throughput"]), estimate(ratios["tail"]))
