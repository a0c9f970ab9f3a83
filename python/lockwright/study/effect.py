"""The effect of the choice of the lock on an application (TOCS 2019, Table 7)."""

import numpy as np
import pandas as pd

from lockwright.study import noise_limits
from lockwright.study.cells import PLACES, Cells
from lockwright.study.rules import Rule

SENSITIVE = 0.10
"""An application is lock-sensitive if R.Dev at its largest count is above this."""

FIGURES = ("gain", "rdev")
"""The two figures, each at every one of PLACES: columns gain_one, rdev_one, gain_max, ..."""


def gain(means: pd.DataFrame) -> pd.Series:
    """Return max / min - 1 over the locks, the gain of the best lock over the worst."""
    return means.max(axis=1) / means.min(axis=1) - 1


def relative_deviation(means: pd.DataFrame) -> pd.Series:
    """Return the sample standard deviation over the locks (n - 1), divided by their mean."""
    return means.std(axis=1, ddof=1) / means.mean(axis=1)


def effect(cells: Cells, rule: Rule) -> pd.DataFrame:
    """Return a row per application: gain and R.Dev at one, max and opt, and `sensitive`.

    Where the rule has intervals, there are columns _quiet, _low and _high for each figure: without
    the noise of the runs, and the 95 % interval of that (see noise_limits). An application is
    sensitive only if its whole interval of R.Dev at max is above SENSITIVE. Where only a part of it
    is, `undecided` is set.
    """
    columns = {}
    for place in PLACES:
        means = cells.at(place).mean
        columns[f"gain_{place}"] = gain(means)
        columns[f"rdev_{place}"] = relative_deviation(means)
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
    columns = [f"{what}_{p}_{end}" for p in PLACES for what in FIGURES for end in noise_limits.ENDS]
    lines: dict[str, dict[str, float]] = {name: {} for name in cells.applications}
    random = np.random.default_rng(0)
    for place in PLACES:
        here = cells.at(place)
        for name, line in lines.items():
            found = noise_limits.limits_of_row(here.row(name), random)
            for what, values in zip(FIGURES, found or (), strict=False):
                for end, value in zip(noise_limits.ENDS, values, strict=True):
                    line[f"{what}_{place}_{end}"] = value
    return pd.DataFrame(lines).T.reindex(columns=columns).astype(float)
