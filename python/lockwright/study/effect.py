"""How much the choice of the lock matters to an application (spec 4.1)."""

import numpy as np
import pandas as pd

from lockwright.compare.stats import CONFIDENCE
from lockwright.study.cells import PLACES, Cells, Matrix, Row, Vector
from lockwright.study.rules import Rule

SENSITIVE = 0.10
"""An application is lock-sensitive if R.Dev at its largest count is above this."""

WHAT = ("gain", "rdev")
"""The two figures, each at every one of PLACES: columns gain_one, rdev_one, gain_max, ..."""

_DRAWS = 1000


def gain(means: pd.DataFrame) -> pd.Series:
    """max / min - 1 over the locks: by how much the best lock is better than the worst."""
    return means.max(axis=1) / means.min(axis=1) - 1


def relative_deviation(means: pd.DataFrame) -> pd.Series:
    """Sample standard deviation over the locks (n - 1), divided by their mean."""
    return means.std(axis=1, ddof=1) / means.mean(axis=1)


def effect(cells: Cells, rule: Rule) -> pd.DataFrame:
    """A line per application: gain and R.Dev at one, max and opt, and whether it is sensitive.

    Where the rule has intervals, there are columns _low and _high of 95 % intervals, and an
    application is sensitive only if its whole interval of R.Dev at max is above SENSITIVE. Where
    only the figure is, and not the interval, `undecided` is set.
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
    table = pd.concat([table, _intervals(cells, table)], axis=1)
    table["sensitive"] = table.rdev_max_low > SENSITIVE
    table["undecided"] = ~table.sensitive & ~(table.rdev_max_high <= SENSITIVE)
    return table


def sensitive(table: pd.DataFrame) -> list[str]:
    """The lock-sensitive applications of an effect table."""
    return list(table.index[table.sensitive])


def _intervals(cells: Cells, table: pd.DataFrame) -> pd.DataFrame:
    """Basic bootstrap intervals (Davison and Hinkley, 1997, 5.2.1), parametric.

    Each cell's logarithm is drawn from Student's t around it, which allows for few runs. Noise
    spreads the locks and so raises gain and R.Dev of every draw; the basic interval, reflected at
    the figure itself, takes that off again.
    """
    random = np.random.default_rng(0)
    lines: dict[str, dict[str, float]] = {name: {} for name in cells.applications}
    for place in PLACES:
        here = cells.at(place)
        for name, line in lines.items():
            drawn = _drawn(here.row(name), random)
            if drawn is None:
                continue
            gains, figure = np.ptp(drawn, axis=1), np.log1p(table.at[name, f"gain_{place}"])
            low, high = _reflected(gains, figure)
            line[f"gain_{place}_low"], line[f"gain_{place}_high"] = np.expm1(low), np.expm1(high)
            means = np.exp(drawn - drawn.mean(axis=1, keepdims=True))
            ratios = means.std(axis=1, ddof=1) / means.mean(axis=1)
            low, high = _reflected(ratios, table.at[name, f"rdev_{place}"])
            line[f"rdev_{place}_low"], line[f"rdev_{place}_high"] = low, high
    ends = [f"{what}_{p}_{end}" for p in PLACES for what in WHAT for end in ("low", "high")]
    return pd.DataFrame(lines).T.reindex(index=table.index, columns=ends).astype(float)


def _drawn(row: Row, random: np.random.Generator) -> Matrix | None:
    """A line per draw, a column per lock that was run; None if any of them ran only once."""
    ran = ~np.isnan(row.log)
    if np.isnan(row.degrees[ran]).any() or ran.sum() < 2:
        return None
    noise = random.standard_t(row.degrees[ran], (_DRAWS, int(ran.sum())))
    # With two runs the t distribution reaches beyond any float.
    shift = np.clip(np.sqrt(row.variance[ran]) * noise, -50, 50)
    drawn: Matrix = row.log[ran] + shift
    return drawn


def _reflected(draws: Vector, figure: float) -> tuple[float, float]:
    beyond = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [beyond, 1 - beyond])
    return max(0.0, 2 * figure - high), max(0.0, 2 * figure - low)
