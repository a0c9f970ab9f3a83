"""The verdicts on locks for applications: to use, to avoid, or neither."""

from dataclasses import dataclass

import pandas as pd

from lockwright.study import descriptive
from lockwright.study.cells import PLACES
from lockwright.study.dataset import COUNT
from lockwright.study.machine_metric import MachineMetric
from lockwright.study.report.metric_figures import places
from lockwright.study.rules import HARM

BEST, HARMFUL, BETWEEN = "use", "avoid", ""

KIND = {BEST: "close", HARMFUL: "incomplete"}
"""The styles of table rows."""


@dataclass(frozen=True)
class Standing:
    """All applications of one part at one place: a row per application, a column per lock.

    word: BEST for a lock that is among the best and whose mean is within HARM of the best one, so
    that noise alone does not qualify it; HARMFUL for one that harms or has runs without a figure;
    BETWEEN for others; None where it has no figure. mean: of its runs. loss: best / mean - 1.
    count: of the mean.
    """

    word: pd.DataFrame
    mean: pd.DataFrame
    loss: pd.DataFrame
    count: pd.DataFrame


def standing(part: MachineMetric, place: str) -> Standing:
    """Return the standing of the locks for all applications at one, max or opt."""
    here = part.whole.at(place)
    counts = part.whole.counts(place)
    losses = descriptive.loss_to_best(part.whole, place)
    lost = set(part.unfinished[["application", COUNT, "lock"]].itertuples(index=False, name=None))
    words = {}
    for name in here.applications:
        row = here.row(name)
        best = part.rule.among_best(row) & (losses.loc[name].to_numpy() <= HARM)
        harmful = part.rule.harmful(row)
        ran = here.mean.loc[name].notna()
        failed = [(name, count, lock) in lost for lock, count in counts.loc[name].items()]
        words[name] = [
            None if not there else HARMFUL if bad or lost else BEST if good else BETWEEN
            for there, good, bad, lost in zip(ran, best, harmful, failed, strict=True)
        ]
    word = pd.DataFrame(words, index=here.locks, dtype=object).T
    return Standing(word, here.mean, losses, counts)


class MetricView:
    """A machine and metric, with the data that its pages share.

    places: those of "one", "max" and "opt" that differ; max only for a study at one count.
    standings: by each of the three places. spreads: relative standard deviation of the runs, a row
    per application and count, by lock.
    """

    def __init__(self, part: MachineMetric) -> None:
        """Compute the standings and spreads."""
        self.part = part
        self.places = places(part)
        self.standings = {place: standing(part, place) for place in PLACES}
        groups = part.sample.frame.groupby(["application", COUNT, "lock"]).value
        self.spreads = (groups.std(ddof=1) / groups.mean()).unstack("lock")
