"""The relation of energy efficiency to throughput (TOCS 2019, Tables 14 to 16)."""

import numpy as np
import pandas as pd
from lockwright.stats.near import TOLERANCE

from lockwright_lab.study.cells import Cells
from lockwright_lab.study.dataset import COUNT
from lockwright_lab.study.descriptive import opt_gain


def correlation(paired: pd.DataFrame) -> pd.DataFrame:
    """Return Pearson's r of throughput and TPP per application, over its means (Table 16). paired:
    columns application, count, lock, throughput and tpp, a row per run."""
    means = paired.groupby(["application", COUNT, "lock"])[["throughput", "tpp"]].mean()
    coefficients = {}
    for application, part in means.groupby(level=0):
        varies = (part.nunique() > 1).all()
        coefficients[application] = (
            np.corrcoef(part.throughput, part.tpp)[0, 1] if varies else np.nan
        )
    return pd.DataFrame({"pcc": coefficients}, dtype=float)


def gain_difference(tpp: Cells, throughput: Cells) -> pd.DataFrame:
    """Return the share of (application, lock) pairs by the difference of gains, opt over max, in
    TPP and throughput: lower or higher by 5 points or more, or the same (Table 14)."""
    difference = (opt_gain(tpp) - opt_gain(throughput)).stack().dropna()
    shares = {
        "lower": (difference <= -TOLERANCE).mean(),
        "same": (difference.abs() < TOLERANCE).mean(),
        "higher": (difference >= TOLERANCE).mean(),
    }
    return pd.DataFrame({"share": shares})


def shift(tpp: Cells, throughput: Cells) -> pd.DataFrame:
    """Return the share of pairs whose best count in TPP is below, equal to or above that in
    throughput. Where the two counts differ, throughput and TPP are each compared between them: if
    either differs by less than 5 %, the counts are taken as the same (Table 15)."""
    first, second = throughput.counts("opt"), tpp.counts("opt")
    signs_of_pairs = []
    for application in first.index.intersection(second.index):
        for lock in first.columns.intersection(second.columns):
            counts = first.at[application, lock], second.at[application, lock]
            if any(map(pd.isna, counts)):
                continue
            fast, thrifty = ((application, int(count)) for count in counts)
            losses = [
                throughput.mean.at[thrifty, lock] / throughput.mean.at[fast, lock],
                tpp.mean.at[fast, lock] / tpp.mean.at[thrifty, lock],
            ]
            near = max(losses) > 1 - TOLERANCE
            signs_of_pairs.append(0 if near else int(np.sign(counts[1] - counts[0])))
    signs = pd.Series(signs_of_pairs, dtype=float)
    names = {"lower": -1, "same": 0, "higher": 1}
    return pd.DataFrame({"share": {name: (signs == sign).mean() for name, sign in names.items()}})
