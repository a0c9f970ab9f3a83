"""The throughputs of an application under other locks, from few locks and the applications that
resemble it under these."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Tables = Mapping[str, pd.DataFrame]
"""The mean throughputs of each application: a row for each number of nodes, the largest last, a
column for each lock, NaN where a lock was not run."""

Throughputs = Mapping[str, float]
"""By lock."""

_OTHER_NODES = 0.5
"""Weight of the locks' ratios at fewer nodes, in those at the largest number of nodes."""

_GROWTH = 0.15
"""Weight of the growth from fewer nodes to the largest number."""

_PENALTY = 1.0
"""Of the sum of the squared coefficients of the regression."""

_BEND = 3.0
"""Ratios with logarithms above 1 / _BEND count less: see _bent."""

_FEWEST = 5
"""Other applications with a lock, at least, for an estimate."""

Vector = NDArray[np.float64]


def same_program(application: str) -> str:
    """Return what the versions of an application have in common: `pca_ll` is `pca` with other
    locks, `memcached-new` a later `memcached-old`."""
    return re.sub(r"(_ll|-new|-old)$", "", application)


def estimate(
    application: str,
    tables: Tables,
    known: Sequence[str],
) -> dict[str, float]:
    """Return the throughputs of an application at its largest number of nodes: those under the
    `known` locks from its table, and estimates under those of the other applications. Nothing else
    of its table is used, and nothing of other versions of the program.

    Estimated is the logarithm of the ratio to the geometric mean of the known locks, by a linear
    regression with a penalty (ridge regression; Hoerl and Kennard, 1970) over the other
    applications, on the ratios of the known locks and the growth of their mean at all numbers of
    nodes.
    """
    counts = _counts(tables)
    own = _features(tables[application], known, counts)
    last = tables[application].iloc[-1]
    found = {lock: float(last[lock]) for lock in known}
    if own is None:
        return found
    locks = sorted({str(lock) for table in tables.values() for lock in table.columns})
    rows, ratios = [], []
    for name, table in tables.items():
        features = _features(table, known, counts)
        if features is not None and same_program(name) != same_program(application):
            rows.append(features)
            ratios.append(_bent_ratios(table.iloc[-1].to_dict(), known, locks))
    level = _level(last.to_dict(), known)
    for index, lock in enumerate(locks):
        has = [row for row, each in zip(rows, ratios, strict=True) if not np.isnan(each[index])]
        values = np.array([each[index] for each in ratios if not np.isnan(each[index])])
        if lock not in known and len(values) >= _FEWEST:
            bent = _regression(np.array(has), values, own)
            found[lock] = math.exp(level + math.sinh(_BEND * bent) / _BEND)
    return found


def _counts(tables: Tables) -> list[int]:
    """Return the numbers of nodes of at least half of the applications, but the largest."""
    numbers = [int(count) for table in tables.values() for count in table.index[:-1]]
    return sorted({each for each in numbers if 2 * numbers.count(each) >= len(tables)})


def _level(throughputs: Throughputs, known: Sequence[str]) -> float:
    """Return the logarithm of the geometric mean of the known locks."""
    return float(np.mean([math.log(throughputs[lock]) for lock in known]))


def _bent(ratios: Vector) -> Vector:
    """Return logarithms of ratios with the larger ones compressed, so that a lock that is ten times
    as slow in some application does not decide the regression."""
    bent: Vector = np.arcsinh(_BEND * ratios) / _BEND
    return bent


def _bent_ratios(throughputs: Throughputs, known: Sequence[str], locks: Sequence[str]) -> Vector:
    level = _level(throughputs, known)
    values = [throughputs.get(lock, math.nan) for lock in locks]
    return _bent(np.log(np.array(values)) - level)


def _features(table: pd.DataFrame, known: Sequence[str], counts: Sequence[int]) -> Vector | None:
    """Return what the known locks tell of an application: their compressed ratios at the largest
    number of nodes, and at each of `counts` these and the growth of their mean; None if it lacks
    one of them."""
    if not set(known) <= set(table.columns) or table[list(known)].isna().any(axis=None):
        return None
    rows = np.log(table[list(known)].to_numpy(dtype=float))
    levels = rows.mean(axis=1)
    ratios = _bent(rows - levels[:, np.newaxis])
    features = [ratios[-1]]
    for count in counts:
        row = int(np.argmin(np.abs(np.log(table.index.to_numpy(dtype=float) / count))))
        growth = np.arcsinh(levels[row] - levels[-1])
        features += [_OTHER_NODES * ratios[row], np.array([_GROWTH * growth])]
    return np.concatenate(features)


def _regression(rows: Vector, values: Vector, at: Vector) -> float:
    """Return the value at a place of the ridge regression of values on rows."""
    middle = rows.mean(axis=0)
    centred = rows - middle
    gram = centred @ centred.T + _PENALTY * np.eye(len(rows))
    weights = np.linalg.solve(gram, values - values.mean())
    return float(values.mean() + weights @ centred @ (at - middle))
