"""Small studies, made of means and runs."""

from collections.abc import Mapping, Sequence

import pandas as pd
from lockwright_lab.study import cells
from lockwright_lab.study.dataset import UNFINISHED, Sample

NONE_LOST = pd.DataFrame(columns=list(UNFINISHED))
Figures = Mapping[tuple[str, int, str], float | Sequence[float]]


def runs(figures: Figures, metric: str = "value") -> pd.DataFrame:
    """A line per run, of figures by application, count and lock: one run, or several."""
    rows = [
        (*key, value)
        for key, values in figures.items()
        for value in (values if isinstance(values, Sequence) else [values])
    ]
    return pd.DataFrame(rows, columns=["application", "count", "lock", metric])


def sample(figures: Figures) -> Sample:
    return Sample("m", "throughput", "threads", runs(figures))


def of(figures: Figures) -> cells.Cells:
    return cells.condense(sample(figures))


def grid(
    application: str, by_count: Mapping[int, Mapping[str, float]]
) -> dict[tuple[str, int, str], float]:
    """Means of one application: count, lock."""
    return {
        (application, count, lock): value
        for count, line in by_count.items()
        for lock, value in line.items()
    }
