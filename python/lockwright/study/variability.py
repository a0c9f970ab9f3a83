"""How far the runs of one configuration lie apart (TOCS 2019: runs are repeated
where this is above 5 %)."""

import pandas as pd

from lockwright.study.dataset import COUNT, Sample

LIMITS = (0.05, 0.10, 0.20)


def variability(sample: Sample) -> pd.DataFrame:
    """Share of the configurations whose relative standard deviation is above each of LIMITS.

    A line per lock, and one for all. Configurations with a single run are left out.
    """
    groups = sample.frame.groupby(["application", COUNT, "lock"]).value
    relative = (groups.std(ddof=1) / groups.mean()).dropna()
    lines = {lock: _shares(part) for lock, part in relative.groupby(level="lock")}
    return pd.DataFrame({"all": _shares(relative)} | lines).T


def _shares(relative: pd.Series) -> dict[str, float]:
    return {f"above_{limit:.0%}": float((relative > limit).mean()) for limit in LIMITS}
