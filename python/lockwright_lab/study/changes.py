"""The frequency of changes in the order of two locks with the count, the machine or the metric."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from lockwright_lab.study.cells import Cells, Row
from lockwright_lab.study.rules import Flags, Rule

_COMMON = 0.9
"""Share of the applications that must have run at a count for it to be a column."""


def usual_counts(cells: Cells) -> list[int]:
    """Return the counts that nine of ten applications were run at, or all if these are under two.
    Other counts, as those of a program that needs a power of two, would be mostly empty columns."""
    counts = cells.mean.index.get_level_values(1)
    often = counts.value_counts()
    usual = sorted(often.index[often >= _COMMON * len(cells.applications)])
    return [int(count) for count in (usual if len(usual) > 1 else sorted(often.index))]


def changes(cells: Cells, rule: Rule, counts: Sequence[int]) -> pd.DataFrame:
    """Return the share of lock pairs whose relation changes with the count (Tables 13, 66-71, 88).
    A row per application. Columns: each two consecutive counts, as `1/2`, and all counts, as
    `1/2/4`: the pairs whose relation is not the same at all of them. `reversed`: pairs of which
    each lock is better at some count. NaN where an application was not run at a count."""
    groups = [*pairwise(counts)] + ([tuple(counts)] if len(counts) > 2 else [])
    lines = {}
    for application in cells.applications:
        ran = cells.mean.loc[application].index
        line = {
            "/".join(map(str, group)): _changed([cells.row((application, n)) for n in group], rule)
            if set(group) <= set(ran)
            else math.nan
            for group in groups
        }
        rows = [cells.row((application, count)) for count in counts if count in ran]
        line["reversed"] = _reversed(rows, rule)
        lines[application] = line
    return pd.DataFrame(lines).T


def between(first: Cells, second: Cells, rule: Rule, point: str) -> float:
    """Return the mean share of lock pairs whose relation differs between two cells (Tables 72, 90).
    The cells are of two machines, or of two metrics of one; the mean is over the applications and
    locks of both."""
    applications = [name for name in first.applications if name in set(second.applications)]
    locks = [lock for lock in first.locks if lock in set(second.locks)]
    parts = [cells.of_locks(locks).at(point) for cells in (first, second)]
    shares = [_changed([part.row(name) for part in parts], rule) for name in applications]
    known = [share for share in shares if not math.isnan(share)]
    return float(np.mean(known)) if known else math.nan


def _pairs_in_all_rows(rows: Sequence[Row]) -> Flags:
    """Return which pairs of two locks ran in all rows."""
    ran = np.logical_and.reduce([~np.isnan(row.mean) for row in rows])
    both: Flags = ran[:, None] & ran[None, :]
    np.fill_diagonal(both, False)
    return both


def _changed(rows: Sequence[Row], rule: Rule) -> float:
    pairs = _pairs_in_all_rows(rows)
    return float((~rule.same(rows))[pairs].mean()) if pairs.any() else math.nan


def _reversed(rows: Sequence[Row], rule: Rule) -> float:
    if len(rows) < 2 or not (pairs := _pairs_in_all_rows(rows)).any():
        return math.nan
    ever = np.logical_or.reduce([rule.better(row) for row in rows])
    return float((ever & ever.T)[pairs].mean())
