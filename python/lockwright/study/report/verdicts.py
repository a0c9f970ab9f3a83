"""Which locks to use for an application, and which to avoid."""

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
"""How lines of tables look."""


@dataclass(frozen=True)
class Standing:
    """All applications of one part at one place: a line per application, a column per lock.

    word: BEST for a lock that is among the best, and not only because its runs lie so far apart
    that nothing is shown: its mean is no more behind than HARM. HARMFUL for one that harms or under
    which runs came to no figure, BETWEEN for others; None where it has no figure. mean: what it
    reached. loss: best / mean - 1. count: at which count.
    """

    word: pd.DataFrame
    mean: pd.DataFrame
    loss: pd.DataFrame
    count: pd.DataFrame


def standing(part: MachineMetric, place: str) -> Standing:
    """How the locks of all applications stand at one, max or opt."""
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
    """A part, and what its pages share.

    places: of "one", "max" and "opt" those that differ: of a study at one count, max only.
    standings: by each of the three places. spreads: relative standard deviation of the runs, a line
    per application and count, by lock.
    """

    def __init__(self, part: MachineMetric) -> None:
        """Computes all of it."""
        self.part = part
        self.places = places(part)
        self.standings = {place: standing(part, place) for place in PLACES}
        groups = part.sample.frame.groupby(["application", COUNT, "lock"]).value
        self.spreads = (groups.std(ddof=1) / groups.mean()).unstack("lock")
