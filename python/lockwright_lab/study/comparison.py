"""The CSV file of `lockwright compare` as a part of a study."""

from collections.abc import Callable, Sequence

from lockwright.base.errors import LockwrightError
from lockwright.base.numbers import number
from lockwright.machine import load

from lockwright_lab.study.schema import METRICS

WARM_UP = "warm-up"
"""The outcome of runs that are not counted."""

_COLUMNS = {"threads", "round", "lock", "outcome", "value", "unit"}


def is_comparison(heading: Sequence[str]) -> bool:
    """Return whether a file with this heading was written by `lockwright compare --csv`."""
    return set(heading) >= _COLUMNS and "application" not in heading


def disturbance(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """Return the warning about other programs during the runs; None without one."""
    if "others" not in heading:
        return None
    return load.warning([number(row[heading.index("others")]) for row in rows])


def as_runs(
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    machine: str,
    application: str,
    complaint: Callable[[str, str], LockwrightError],
) -> tuple[list[str], list[list[str]]]:
    """Return heading and rows in the form of a study file, in the same order. Warm-up runs have the
    outcome WARM_UP. The metric is found by its unit; with an unknown unit its name is `value`.
    complaint: makes an error from the fault and the advice; it is raised for several units."""
    indices = {name: heading.index(name) for name in _COLUMNS}
    units = sorted({row[indices["unit"]] for row in rows})
    if len(units) > 1:
        raise complaint(f"has figures in {' and in '.join(units)}", "give each a file of its own")
    unit = units[0] if units else ""
    metric = next((m.name for m in METRICS.values() if unit.lower() in m.units), None)
    # A program may be run without a number of threads.
    count_column = ["threads"] if any(row[indices["threads"]] for row in rows) else []
    columns = [*count_column, "round", "lock", "outcome", "value"]
    head = ["machine", "application", *columns]
    head[-1] = f"{metric} ({unit})" if metric else "value"
    lines = []
    for row in rows:
        line = [machine, application, *(row[indices[name]] for name in columns)]
        if row[indices["round"]].startswith(("0", "-")):
            line[-2] = WARM_UP
        lines.append(line)
    return head, lines
