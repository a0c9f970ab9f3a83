"""The effect of the choice of the lock on an application (TOCS 2019, Table 7)."""

import numpy as np
import pandas as pd

from lockwright_lab.study import noise_limits
from lockwright_lab.study.cells import POINTS, Cells
from lockwright_lab.study.rules import Rule

SENSITIVE = 0.10
"""An application is lock-sensitive if its R.Dev at the largest count, the relative standard
deviation of the locks' means, is above this."""

FIGURES = ("gain", "rdev")
"""The two figures, each at every one of POINTS: columns gain_one, rdev_one, gain_max, ..."""


def gain(means: pd.DataFrame) -> pd.Series:
    """Return max / min - 1 over the locks, the gain of the best lock over the worst."""
    return means.max(axis=1) / means.min(axis=1) - 1


def relative_deviation(means: pd.DataFrame) -> pd.Series:
    """Return the sample standard deviation over the locks (n - 1), divided by their mean."""
    return means.std(axis=1, ddof=1) / means.mean(axis=1)


def effect(cells: Cells, rule: Rule) -> pd.DataFrame:
    """Return a row per application: gain and R.Dev at one, max and opt, and `sensitive`. Where the
    rule has intervals, there are columns _quiet, _low and _high for each figure: without the noise
    of the runs, and the 95 % interval of that (see noise_limits). An application is sensitive only
    if its entire interval of R.Dev at max is above SENSITIVE, and `undecided` if only a part is."""
    columns = {}
    for point in POINTS:
        means = cells.at(point).mean
        columns[f"gain_{point}"] = gain(means)
        columns[f"rdev_{point}"] = relative_deviation(means)
    table = pd.DataFrame(columns)
    if not rule.intervals:
        table["sensitive"] = table.rdev_max > SENSITIVE
        table["undecided"] = False
        return table
    table = pd.concat([table, _intervals(cells).reindex(table.index)], axis=1)
    table["sensitive"] = table.rdev_max_low > SENSITIVE
    table["undecided"] = ~table.sensitive & ~(table.rdev_max_high <= SENSITIVE)
    return table


def sensitive(table: pd.DataFrame) -> list[str]:
    """Return the lock-sensitive applications of an effect table."""
    return list(table.index[table.sensitive])


def _intervals(cells: Cells) -> pd.DataFrame:
    columns = [f"{what}_{p}_{end}" for p in POINTS for what in FIGURES for end in noise_limits.ENDS]
    lines: dict[str, dict[str, float]] = {name: {} for name in cells.applications}
    random = np.random.default_rng(0)
    for point in POINTS:
        cells_there = cells.at(point)
        for name, line in lines.items():
            limits = noise_limits.limits_of_row(cells_there.row(name), random)
            for what, values in zip(FIGURES, limits or (), strict=False):
                for end, value in zip(noise_limits.ENDS, values, strict=True):
                    line[f"{what}_{point}_{end}"] = value
    return pd.DataFrame(lines).T.reindex(columns=columns).astype(float)
