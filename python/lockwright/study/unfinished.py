"""Runs that came to no figure: a lock under which a program hangs or crashes is no choice."""

import pandas as pd

from lockwright.study.dataset import COUNT, Sample

_KEYS = ["application", COUNT, "lock"]


def unfinished(sample: Sample) -> pd.DataFrame:
    """A line per configuration with such runs: application, count, lock, unfinished, runs (of all
    outcomes) and outcome, the most frequent one; empty if all runs finished."""
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
    return table.reset_index().sort_values(["application", COUNT, "lock"], ignore_index=True)
