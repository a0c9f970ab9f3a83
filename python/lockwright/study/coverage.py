"""For how many applications a lock is among the best, and for how many it is harmful (TOCS 2019,
Tables 11, 12 and 31 to 37)."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from lockwright.study.cells import PLACES, Cells, Row
from lockwright.study.rules import Flags, Rule


def best_share(cells: Cells, rule: Rule) -> pd.DataFrame:
    """A line per lock: the share of the applications where it is among the best (Tables 31-37)."""
    return _share(cells, rule.among_best, PLACES)


def harmful_share(cells: Cells, rule: Rule) -> pd.DataFrame:
    """A line per lock: the share of the applications that it harms (Table 12)."""
    return _share(cells, rule.harmful, ("max", "opt"))


def best_locks(cells: Cells, rule: Rule, place: str, most: int = 3) -> pd.Series:
    """The names of the best locks of each application, best first, and how many more there are."""
    here = cells.at(place)
    names = {}
    for application in here.applications:
        good = here.mean.loc[application][rule.among_best(here.row(application))]
        ranked = list(good.sort_values(ascending=False).index)
        more = f" +{len(ranked) - most}" if len(ranked) > most else ""
        names[application] = ", ".join(ranked[:most]) + more
    return pd.Series(names, dtype=object)


def spread(shares: pd.DataFrame) -> pd.DataFrame:
    """min, max, average and sample standard deviation of shares over the locks (Table 11)."""
    return shares.agg(["min", "max", "mean", "std"])


def _share(cells: Cells, chosen: Callable[[Row], Flags], places: tuple[str, ...]) -> pd.DataFrame:
    """Of the applications that a lock was run on at that place; NaN where there are none."""
    columns = {}
    for place in places:
        here = cells.at(place)
        flags = {name: chosen(here.row(name)) for name in here.applications}
        table = pd.DataFrame(flags, index=here.locks, dtype=float).T
        columns[place] = table.where(here.mean.notna()).mean()
    return pd.DataFrame(columns, dtype=np.float64).rename_axis("lock")
