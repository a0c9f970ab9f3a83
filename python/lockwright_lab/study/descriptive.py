"""Tables that describe the locks of a study, as in TOCS 2019.

They give the count at which each lock is best (Tables 9, 10, 15), the share of applications for
which a lock is among the best or harmful (11, 12, 31 to 37), every lock against every other (38 to
51), the variability of the runs of one configuration, and the runs without a figure.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from lockwright_lab.study.cells import POINTS, Cells, Row
from lockwright_lab.study.dataset import COUNT, Sample
from lockwright_lab.study.rules import Flags, Rule

_KEYS = ["application", COUNT, "lock"]
LIMITS = (0.05, 0.10, 0.20)
"""Relative standard deviations; TOCS 2019 repeats runs above the first."""


def opt_gain(cells: Cells) -> pd.DataFrame:
    """Return m(opt) / m(max) - 1 per application and lock (Tables 9, 25-30)."""
    return cells.at("opt").mean / cells.at("max").mean - 1


def best_counts(cells: Cells) -> pd.DataFrame:
    """Return the share of (application, lock) pairs by their best count (Table 10)."""
    counts = cells.counts("opt").stack().dropna().astype(int)
    shares = counts.value_counts(normalize=True).sort_index()
    return pd.DataFrame({"count": shares.index, "share": shares.to_numpy()}).set_index("count")


def loss_to_best(cells: Cells, point: str) -> pd.DataFrame:
    """Return max / m - 1, the loss against the best lock, per application and lock (Tables 52-65,
    84-87)."""
    means = cells.at(point).mean
    return means.rdiv(means.max(axis=1), axis=0) - 1


def lost_at(cells: Cells, lost: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return which locks have runs without a figure at a point, a row per application. lost: of
    `unfinished`."""
    counts = cells.counts(point)
    if point != "opt":
        # A lock without any figure has no count of its own.
        counts = counts.apply(lambda line: line.fillna(line.max()), axis=1)
    keys = set(lost[_KEYS].itertuples(index=False, name=None))
    flags = {
        lock: [(name, count, lock) in keys for name, count in counts[lock].items()]
        for lock in counts
    }
    return pd.DataFrame(flags, counts.index, dtype=bool)


def among_best(cells: Cells, rule: Rule, lost: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return which locks are among the best, a row per application: those that are by the rule, and
    have a figure of each run. lost: of `unfinished`."""
    at_point = cells.at(point)
    flags = {name: rule.among_best(at_point.row(name)) for name in at_point.applications}
    best = pd.DataFrame(flags, at_point.locks, dtype=bool).T
    return best & ~lost_at(cells, lost, point)


def best_share(cells: Cells, rule: Rule, lost: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the applications where a lock is among the best, a row per lock (Tables
    31-37), of those that it was run on. lost: of `unfinished`."""
    columns = {}
    for point in POINTS:
        ran = cells.at(point).mean.notna() | lost_at(cells, lost, point)
        best = among_best(cells, rule, lost, point)
        columns[point] = best.astype(float).where(ran).mean()
    return pd.DataFrame(columns, dtype=np.float64).rename_axis("lock")


def harmful_share(cells: Cells, rule: Rule) -> pd.DataFrame:
    """Return the share of the applications that a lock harms, a row per lock (Table 12)."""
    return _share_of_applications(cells, rule.harmful, ("max", "opt"))


def best_locks(best: pd.DataFrame, means: pd.DataFrame, most: int = 3) -> pd.Series:
    """Return the names of at most `most` best locks of each application, best first, and the number
    of others. best: of `among_best`; means: of the same locks."""
    names = {}
    for application, flags in best.iterrows():
        ranked = list(means.loc[application][flags].sort_values(ascending=False).index)
        more = f" +{len(ranked) - most}" if len(ranked) > most else ""
        names[application] = ", ".join(ranked[:most]) + more
    return pd.Series(names, dtype=object)


def spread(shares: pd.DataFrame) -> pd.DataFrame:
    """Return min, max, mean and sample standard deviation of shares over the locks (Table 11)."""
    return shares.agg(["min", "max", "mean", "std"])


def _share_of_applications(
    cells: Cells, chosen: Callable[[Row], Flags], points: tuple[str, ...]
) -> pd.DataFrame:
    """Return the share of the applications that a lock was run on at each point; NaN for none."""
    columns = {}
    for point in points:
        at_point = cells.at(point)
        flags = {name: chosen(at_point.row(name)) for name in at_point.applications}
        table = pd.DataFrame(flags, index=at_point.locks, dtype=float).T
        columns[point] = table.where(at_point.mean.notna()).mean()
    return pd.DataFrame(columns, dtype=np.float64).rename_axis("lock")


def pairwise(cells: Cells, rule: Rule, point: str) -> pd.DataFrame:
    """Return the share of the common applications where the row's lock beats the column's. The
    column `average` is the mean over the other locks (Fig. 3, Tables 38-51, 80-83)."""
    at_point = cells.at(point)
    locks = at_point.locks
    wins = np.zeros((len(locks), len(locks)))
    common = np.zeros_like(wins)
    for application in at_point.applications:
        row = at_point.row(application)
        ran = ~np.isnan(row.mean)
        wins += rule.better(row)
        common += ran[:, None] & ran[None, :]
    with np.errstate(invalid="ignore"):
        shares = np.where(common > 0, wins / common, np.nan)
    np.fill_diagonal(shares, np.nan)
    table = pd.DataFrame(shares, index=locks, columns=locks)
    return table.assign(average=table.mean(axis=1))


def variability(sample: Sample) -> pd.DataFrame:
    """Return the share of configurations whose relative standard deviation is above each of LIMITS.
    A row per lock, and one for all. Configurations with a single run are left out."""
    groups = sample.frame.groupby(_KEYS).value
    relative = (groups.std(ddof=1) / groups.mean()).dropna()
    lines = {lock: _shares(part) for lock, part in relative.groupby(level="lock")}
    return pd.DataFrame({"all": _shares(relative)} | lines).T


def _shares(relative: pd.Series) -> dict[str, float]:
    return {f"above_{limit:.0%}": float((relative > limit).mean()) for limit in LIMITS}


def unfinished(sample: Sample) -> pd.DataFrame:
    """Return a row per configuration with unfinished runs: application, count, lock, unfinished,
    runs (of all outcomes) and outcome, the most frequent one; empty if all runs finished."""
    lost = sample.unfinished.groupby(_KEYS).outcome
    number = lost.size()
    runs = number.add(sample.frame.groupby(_KEYS).size().reindex(number.index), fill_value=0)
    table = pd.DataFrame(
        {
            "unfinished": number,
            "runs": runs.astype(int),
            "outcome": lost.agg(lambda words: words.value_counts().index[0]),
        }
    )
    return table.reset_index().sort_values(_KEYS, ignore_index=True)
