"""Which locks to use for an application, and which to avoid."""

from dataclasses import dataclass

import pandas as pd

from lockwright.study import best_count
from lockwright.study.dataset import COUNT
from lockwright.study.part import Part

BEST, HARMFUL, BETWEEN = "use", "avoid", ""


@dataclass(frozen=True)
class Standing:
    """All applications of one part at one place: a line per application, a column per lock.

    word: BEST for a lock that is among the best, HARMFUL for one that harms, BETWEEN for others;
    None where it was not run. mean: what it reached. loss: best / mean - 1. count: at which count.
    """

    word: pd.DataFrame
    mean: pd.DataFrame
    loss: pd.DataFrame
    count: pd.DataFrame


def standing(part: Part, place: str) -> Standing:
    """How the locks of all applications stand at one, max or opt."""
    here = part.whole.at(place)
    words = {}
    for name in here.applications:
        row = here.row(name)
        best, harmful = part.rule.among_best(row), part.rule.harmful(row)
        ran = here.mean.loc[name].notna()
        words[name] = [
            None if not there else BEST if good else HARMFUL if bad else BETWEEN
            for there, good, bad in zip(ran, best, harmful, strict=True)
        ]
    word = pd.DataFrame(words, index=here.locks, dtype=object).T
    return Standing(word, here.mean, best_count.loss(part.whole, place), part.whole.counts(place))


def spreads(part: Part) -> pd.DataFrame:
    """Relative standard deviation of the runs: a line per application and count, by lock."""
    groups = part.sample.frame.groupby(["application", COUNT, "lock"]).value
    return (groups.std(ddof=1) / groups.mean()).unstack("lock")
