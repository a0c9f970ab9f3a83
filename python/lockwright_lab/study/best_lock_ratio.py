"""The best_lock ratio: how near one lock comes to the best lock at each count (Marotta et
al., Mutable Locks)."""

from collections.abc import Mapping, Sequence

import pandas as pd

from lockwright_lab.study.cells import Cells

EXPECTED = {"pt-exp": ("ttas", "pthread")}
"""Columns that stand for a random choice between locks: the mean of these."""


def best_lock_ratio(
    cells: Cells,
    counts: Sequence[int] | None = None,
    mixed: Mapping[str, Sequence[str]] | None = None,
) -> pd.DataFrame:
    """Return the ratios, a row per application, a column per lock: its average over the counts,
    divided by that of the best lock at each count. counts: the range; all by default. mixed:
    columns that are means of locks, see EXPECTED; they do not count as best. NaN for a lock that
    was not run at some count."""
    lines = {}
    for application in cells.applications:
        part = cells.mean.loc[application]
        if counts is not None:
            part = part.loc[part.index.isin(counts)]
        locks = part.dropna(axis=1, how="all")
        best = locks.max(axis=1).mean()
        for name, members in (mixed or {}).items():
            if set(members) <= set(locks.columns):
                locks = locks.assign(**{name: locks[list(members)].mean(axis=1, skipna=False)})
        lines[application] = locks.mean(skipna=False) / best
    return pd.DataFrame(lines).T.rename_axis("application")
