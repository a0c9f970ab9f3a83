"""The ratios of every lock to the baseline, with intervals."""

import numpy as np
import pandas as pd
from lockwright.stats.inference import CONFIDENCE

from lockwright_lab.study.cells import Cells
from lockwright_lab.study.dataset import COUNT

COLUMNS = (COUNT, "lock", "ratio", "low", "high")


def ratios(cells: Cells, baseline: str) -> pd.DataFrame:
    """Return the ratio of the geometric means of each lock's runs and of the baseline's, above 1 if
    better, and its interval: Welch's t on the logarithms of the runs (Welch, Biometrika 34, 1947)
    with moderated variances, of 95 % for each lock alone. A row per application, count and lock,
    the highest ratio of a count first; the index is the application. low, high: NaN for single
    runs. Settings and locks without runs are left out."""
    from scipy.special import stdtrit

    lines = []
    for application, count in cells.mean.index:
        row = cells.row((application, count))
        base = cells.locks.index(baseline) if baseline in cells.locks else None
        if base is None or np.isnan(row.mean[base]):
            continue
        logs = row.log - row.log[base]
        with np.errstate(divide="ignore", invalid="ignore"):
            summed = row.variance + row.variance[base]
            # Welch and Satterthwaite; the runs of both count where neither varies.
            shares = row.variance**2 / row.degrees + row.variance[base] ** 2 / row.degrees[base]
            degrees = np.where(summed > 0, summed**2 / shares, row.degrees + row.degrees[base])
            half = stdtrit(degrees, 0.5 + CONFIDENCE / 2) * np.sqrt(summed)
        table = pd.DataFrame(
            {
                COUNT: count,
                "lock": cells.locks,
                "ratio": np.exp(logs),
                "low": np.exp(logs - half),
                "high": np.exp(logs + half),
            },
            index=[application] * len(cells.locks),
        )
        ran = table[table.ratio.notna() & (table.lock != baseline)]
        lines.append(ran.sort_values("ratio", ascending=False, kind="stable"))
    found = pd.concat(lines) if lines else pd.DataFrame(columns=list(COLUMNS))
    return found.rename_axis("application")
