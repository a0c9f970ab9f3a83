"""Tail latency against throughput (TOCS 2019, Fig. 6 and 28-30).

The functions take runs that have both metrics: columns application, count, lock, latency and
throughput, a row per run, in the metrics' own units.
"""

import pandas as pd

from lockwright_lab.study.dataset import COUNT


def _means(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean latency and execution time (1 / mean throughput) of each configuration."""
    means = runs.groupby(["application", "lock", COUNT])[["latency", "throughput"]].mean()
    return means.assign(time=1 / means.throughput)


def _configurations_at(means: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return the configuration of each application and lock at one, max or opt (of throughput)."""
    flat = means.reset_index(COUNT)
    if point == "opt":
        # The smallest of equally good counts.
        best = flat.sort_values(["time", COUNT]).groupby(level=["application", "lock"]).head(1)
        return best.sort_index()
    ends = flat[COUNT].groupby(level="application").agg("min" if point == "one" else "max")
    return flat[flat[COUNT] == ends.reindex(flat.index.get_level_values("application")).to_numpy()]


def against_throughput(runs: pd.DataFrame, point: str, baseline: str) -> pd.DataFrame:
    """Return latency and execution time of each lock, as multiples of the baseline's. A row per
    application and lock, least latency first; at opt, each lock is at the count of its best
    throughput. Applications that were not run with the baseline there are left out."""
    at_point = _configurations_at(_means(runs), point)
    if baseline not in at_point.index.get_level_values("lock"):
        return pd.DataFrame(columns=["application", "lock", "count", "latency", "time"])
    base = at_point.xs(baseline, level="lock")[["latency", "time"]]
    known = at_point[at_point.index.get_level_values("application").isin(base.index)]
    over = base.reindex(known.index.get_level_values("application")).to_numpy()
    ratios = known[["latency", "time"]] / over
    table = ratios.assign(count=known[COUNT]).reset_index()
    table = table.sort_values(["application", "latency"], ignore_index=True)
    return table[["application", "lock", "count", "latency", "time"]]


def growth(runs: pd.DataFrame) -> pd.DataFrame:
    """Return by what factors latency and execution time grow to max: from one, and from opt. Each
    is the mean of the ratios over all applications and locks that were run at both."""
    means = _means(runs)
    last = _configurations_at(means, "max")
    lines = {}
    for start in ("one", "opt"):
        ratios = (
            last[["time", "latency"]] / _configurations_at(means, start)[["time", "latency"]]
        ).dropna()
        lines[f"{start} to max"] = ratios.mean()
    return pd.DataFrame(lines).T
