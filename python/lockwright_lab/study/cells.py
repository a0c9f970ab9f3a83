"""The runs of a sample, condensed to a cell for each application, count and lock."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pandas as pd
from lockwright.stats.moderated import Vector, moderated
from numpy.typing import NDArray

from lockwright_lab.study.dataset import COUNT, Sample

Matrix = NDArray[np.float64]

POINTS = ("one", "max", "opt")
"""The smallest count of an application, its largest, and each lock's own best one (TOCS 2019,
Table 9)."""


@dataclass(frozen=True)
class Row:
    """The figures of one application's locks; NaN for a lock that was not run. mean: arithmetic
    mean of the runs. log: mean of their logarithms; variance: of that mean. error: standard error
    of the arithmetic mean, as a share of it. Both errors are moderated by those of the other locks
    (see moderated); degrees and error_degrees: of freedom. NaN for a single run."""

    mean: Vector
    log: Vector
    variance: Vector
    degrees: Vector
    error: Vector
    error_degrees: Vector


@dataclass(frozen=True)
class Cells:
    """Frames of one shape: a row per application (and count), a column per lock. See Row."""

    mean: pd.DataFrame
    log: pd.DataFrame
    variance: pd.DataFrame
    degrees: pd.DataFrame
    error: pd.DataFrame
    error_degrees: pd.DataFrame

    def row(self, key: object) -> Row:
        frames = (getattr(self, cell_field.name) for cell_field in fields(self))
        return Row(*(frame.loc[key].to_numpy(dtype=float) for frame in frames))

    def _changed(self, change: Callable[[pd.DataFrame], pd.DataFrame]) -> "Cells":
        return Cells(*(change(getattr(self, cell_field.name)) for cell_field in fields(self)))

    @property
    def locks(self) -> list[str]:
        return list(self.mean.columns)

    @property
    def applications(self) -> list[str]:
        """All applications, sorted."""
        return list(self.mean.index.get_level_values(0).unique())

    def only(self, applications: list[str]) -> "Cells":
        return self._changed(lambda frame: frame.loc[applications])

    def of_locks(self, locks: list[str]) -> "Cells":
        return self._changed(lambda frame: frame[locks])

    def at(self, point: str) -> "Cells":
        """Return the cells at one of POINTS, a row per application."""
        return self._at[point]

    @cached_property
    def _at(self) -> dict[str, "Cells"]:
        return {point: self._picked(self.counts(point)) for point in POINTS}

    def _picked(self, counts: pd.DataFrame) -> "Cells":
        """Return the cell of each application and lock at its count; NaN where that is NaN."""
        of_cells = counts.to_numpy()
        lines, columns = np.nonzero(~np.isnan(of_cells))
        keys = zip(counts.index[lines], of_cells[lines, columns].astype(int), strict=True)
        rows = self.mean.index.get_indexer(list(keys)) if len(lines) else []

        def pick(frame: pd.DataFrame) -> pd.DataFrame:
            values = np.full(of_cells.shape, np.nan)
            values[lines, columns] = frame.to_numpy()[rows, columns]
            return pd.DataFrame(values, counts.index, counts.columns)

        return self._changed(pick)

    def counts(self, point: str) -> pd.DataFrame:
        """Return the count of each application and lock at a point; NaN where it was not run."""
        lines = {}
        for application, part in self.mean.groupby(level=0):
            by_count = part.droplevel(0)
            if point == "opt":
                lines[application] = _best_count(by_count)
            else:
                count = by_count.index.min() if point == "one" else by_count.index.max()
                ran = by_count.loc[count].notna()
                lines[application] = pd.Series(np.where(ran, float(count), np.nan), ran.index)
        table = pd.DataFrame(lines, dtype=float).T
        return table.reindex(columns=self.locks).rename_axis("application")


def _best_count(by_count: pd.DataFrame) -> pd.Series:
    best = pd.Series(np.nan, by_count.columns)
    ran = by_count.dropna(axis=1, how="all")
    best[ran.columns] = ran.idxmax().astype(float)
    return best


def condense(sample: Sample) -> Cells:
    """Return the cells of a sample. Timers have a resolution: runs of equal length may differ by as
    much as the smallest step between two runs of that application and count. A value that was
    rounded to such steps may be off by half of one, so no mean has a smaller standard error than
    that."""
    frame = sample.frame.assign(log=np.log(sample.frame.value))
    keys = ["application", COUNT, "lock"]
    ordered = frame.sort_values(["application", COUNT, "log"])
    gaps = ordered.groupby(["application", COUNT]).log.diff()
    steps = gaps.where(gaps > 1e-12).groupby([ordered.application, ordered[COUNT]]).min()
    groups = frame.groupby(keys)
    number = groups.size()
    mean = groups.value.mean()
    runs = pd.DataFrame(
        {
            "number": number,
            "log": groups.log.var(),
            "share": (groups.value.std() / mean) ** 2,
            "least": steps.reindex(number.index.droplevel("lock")).fillna(0.0).to_numpy() ** 2 / 4,
        }
    )
    variance, degrees = _moderated_variances(runs, "log")
    squared, error_degrees = _moderated_variances(runs, "share")
    columns = {
        "mean": mean,
        "log": groups.log.mean(),
        "variance": variance,
        "degrees": degrees,
        "error": np.sqrt(squared),
        "error_degrees": error_degrees,
    }
    return Cells(**{name: values.unstack("lock").sort_index() for name, values in columns.items()})


def _moderated_variances(runs: pd.DataFrame, which: str) -> tuple[pd.Series, pd.Series]:
    """Return the variances of the means and their degrees of freedom, from a column of variances of
    runs; those of one application and count moderate each other."""
    several = runs.number > 1
    # A variance of 0 has no logarithm.
    least = np.maximum(runs.least * runs.number, np.finfo(float).eps ** 2)
    variance = np.maximum(runs[which], least).where(several)
    degrees = (runs.number - 1.0).where(several)
    for _, positions in runs.groupby(["application", COUNT]).indices.items():
        moderated_values = moderated(variance.to_numpy()[positions], degrees.to_numpy()[positions])
        variance.iloc[positions], degrees.iloc[positions] = moderated_values
    return np.maximum(variance / runs.number, runs.least), degrees
