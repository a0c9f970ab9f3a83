"""The predicted effect of changes of a program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.predict.changes import Change
from lockwright.predict.estimate import Estimate, estimate
from lockwright.predict.simulations import Outcomes, Point, job
from lockwright.simulate.figures import figures
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
) -> dict[Key, Job]:
    """Return the simulations of the program as it is, with these threads and lock, and after each
    change."""
    found = {}
    for index, point in enumerate(points):
        model = point.variant.model
        found[index, 0] = job(point, model, Cell(lock, threads), seconds)
        for number, change in enumerate(changes, 1):
            changed = replace(point, variant=change.applied(point.variant))
            cell = Cell(change.lock or lock, change.threads or threads)
            found[index, number] = job(changed, changed.variant.model, cell, seconds)
    return found


def effects(outcomes: Outcomes[Key], changes: Sequence[Change]) -> list[Effect]:
    """Return the effect of each change, that with the largest throughput first."""
    values = {key: _values(line) for key, line in outcomes.lines.items()}
    found = [_effect(values, outcomes, number, each) for number, each in enumerate(changes, 1)]
    return sorted(found, key=lambda each: -(each.throughput.value if each.throughput else 0.0))


def _values(line: Line) -> Mapping[str, float]:
    found = figures(line)
    return {"throughput": found["operations_per_second"], "tail": found["wait_p99_ns"]}


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
                    of_name.append(after[name] / before[name])
    return Effect(change, estimate(ratios["throughput"]), estimate(ratios["tail"]))
