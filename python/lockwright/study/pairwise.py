"""Every lock against every other (TOCS 2019, Tables 38 to 51)."""

import numpy as np
import pandas as pd

from lockwright.study.cells import Cells
from lockwright.study.rules import Rule


def pairwise(cells: Cells, rule: Rule, place: str) -> pd.DataFrame:
    """Share of the common applications where the lock of the line is better than the column's.

    The column `average` is the mean over the other locks (Fig. 3, Tables 38-51, 80-83).
    """
    here = cells.at(place)
    locks = here.locks
    wins = np.zeros((len(locks), len(locks)))
    common = np.zeros_like(wins)
    for application in here.applications:
        row = here.row(application)
        ran = ~np.isnan(row.mean)
        wins += rule.better(row)
        common += ran[:, None] & ran[None, :]
    with np.errstate(invalid="ignore"):
        shares = np.where(common > 0, wins / common, np.nan)
    np.fill_diagonal(shares, np.nan)
    table = pd.DataFrame(shares, index=locks, columns=locks)
    return table.assign(average=table.mean(axis=1))
