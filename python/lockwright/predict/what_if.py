"""The predicted effect of changes of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.predict import progress
from lockwright.predict.changes import Change
from lockwright.predict.estimate import Estimate, estimate
from lockwright.predict.simulations import STEPS, Outcomes, Point, job
from lockwright.simulate.figures import figures, integers
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


def jobs(
    points: Sequence[Point],
    changes: Sequence[Change],
    threads: int,
    lock: str,
    seconds: float | None,
    steps: int = STEPS,
) -> dict[Key, Job]:
    """Return the simulations of the program as it is, with these threads and lock, and after each
    change. seconds, steps: of each, as in simulations.job()."""
    found = {}
    for index, point in enumerate(points):
        model = point.variant.model
        found[index, 0] = job(point, model, Cell(lock, threads), seconds, steps)
        for number, change in enumerate(changes, 1):
            changed = replace(point, variant=change.applied(point.variant))
            cell = Cell(change.lock or lock, change.threads or threads)
            found[index, number] = job(changed, changed.variant.model, cell, seconds, steps)
    return found


def effects(
    outcomes: Outcomes[Key], points: Sequence[Point], changes: Sequence[Change]
) -> list[Effect]:
    """Return the effect of each change, that with the largest throughput first. points, changes:
    those of jobs()."""
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
