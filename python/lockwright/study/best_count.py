"""At which thread count each lock is at its best (TOCS 2019, Tables 9, 10, 15)."""

import pandas as pd

from lockwright.study.cells import Cells


def opt_gain(cells: Cells) -> pd.DataFrame:
    """m(opt) / m(max) - 1 per application and lock (Tables 9, 25-30)."""
    return cells.at("opt").mean / cells.at("max").mean - 1


def breakdown(cells: Cells) -> pd.DataFrame:
    """Share of all (application, lock) pairs by the count at which they are best (Table 10)."""
    counts = cells.counts("opt").stack().dropna().astype(int)
    shares = counts.value_counts(normalize=True).sort_index()
    return pd.DataFrame({"count": shares.index, "share": shares.to_numpy()}).set_index("count")


def loss(cells: Cells, place: str) -> pd.DataFrame:
    """max / m - 1 per application and lock: what is lost against the best (Tables 52-65, 84-87)."""
    means = cells.at(place).mean
    return means.rdiv(means.max(axis=1), axis=0) - 1
