"""Warnings about the reliability of a comparison, in a sentence each, as in hyperfine."""

from collections.abc import Iterable, Mapping, Sequence

from lockwright.base import numbers
from lockwright.compare.plan import Plan
from lockwright.compare.runner import VALUE
from lockwright.experiment import Run
from lockwright.machine import load
from lockwright.stats import inference

WIDE_SPREAD = 0.05
"""Relative standard deviation above which a few runs cannot show a difference of 5 %."""

FAR = 10.0
"""Robust standard deviations from the median beyond which a value is an outlier; hyperfine's
threshold."""

SMALL = 0.05
"""Share of the median below which a deviation is never an outlier."""

SHORT = 0.1
"""Seconds below which the start of the program dominates the measurement."""

_Row = tuple[str, str]
"""Names of the cell and the lock: one row of the tables."""


def collect(plan: Plan, runs: Iterable[Run]) -> list[str]:
    """Return all warnings, at most one of each kind, with the number of rows and the worst case."""
    counted = [run for run in runs if run.counted]
    cells: dict[_Row, list[Run]] = {}
    for run in counted:
        if VALUE in run.figures:
            cells.setdefault((run.cell, run.contender), []).append(run)
    values = {cell: [run.figures[VALUE] for run in made] for cell, made in cells.items()}
    texts = [
        _spread(plan, values),
        *_outlier_warnings(plan, values),
        load.warning([run.others for run in counted]),
        _short(cells),
    ]
    return [text for text in texts if text is not None]


def _spread(plan: Plan, values: Mapping[_Row, Sequence[float]]) -> str | None:
    wide = {
        cell: share
        for cell, cell_values in values.items()
        if (share := inference.spread(cell_values)) is not None and share > WIDE_SPREAD
    }
    if not wide:
        return None
    worst = max(wide, key=wide.__getitem__)
    return (
        f"{_in_rows(len(wide), len(values))} rel. sd is above {numbers.percent(WIDE_SPREAD)}, "
        f"highest with {_named(worst)} ({numbers.percent(wide[worst])}); "
        f"{plan.precision_advice} narrows the confidence intervals"
    )


def _outlier_warnings(plan: Plan, values: Mapping[_Row, Sequence[float]]) -> Iterable[str]:
    outliers = {cell: _outliers(cell_values) for cell, cell_values in values.items()}
    first = [cell for cell, indices in outliers.items() if 0 in indices]
    if first and plan.warmup == 0:
        yield (
            f"{_in_rows(len(first), len(values))} the first run is an outlier, as with "
            f"{_named(first[0])}; caches may have been cold: use --warm-up-runs"
        )
        outliers = {cell: indices - {0} for cell, indices in outliers.items()}
    odd = {cell: len(indices) for cell, indices in outliers.items() if indices}
    if odd:
        yield (
            f"{_in_rows(len(odd), len(values))} there are outliers, {sum(odd.values())} in all, "
            f"as with {_named(max(odd, key=odd.__getitem__))}; something else may have "
            "disturbed them: repeat on a quiet machine"
        )


def _short(cells: Mapping[_Row, Sequence[Run]]) -> str | None:
    shortest = {cell: min(run.wall for run in runs) for cell, runs in cells.items()}
    short = {cell: wall for cell, wall in shortest.items() if wall < SHORT}
    if not short:
        return None
    worst = min(short, key=short.__getitem__)
    return (
        f"{_in_rows(len(short), len(cells))} runs took less than {SHORT * 1000:.0f} ms, "
        f"the shortest {short[worst] * 1000:.2g} ms with {_named(worst)}; "
        "give the program more work"
    )


def _in_rows(count: int, total: int) -> str:
    """Return the first words of a warning: the number of rows that it concerns."""
    return f"in {count} of {total} rows,"


def _named(cell: _Row) -> str:
    where, lock = cell
    return f"{lock} at {where}" if where else lock


def _outliers(values: Sequence[float]) -> set[int]:
    """Return the indices of the outliers among values in order of rounds."""
    if len(values) < 3:
        return set()
    middle = sorted(values)[len(values) // 2]
    return {
        index
        for index, score in enumerate(inference.modified_z_scores(values))
        if abs(score) > FAR and abs(values[index] - middle) > SMALL * abs(middle)
    }
