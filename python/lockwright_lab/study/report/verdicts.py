"""The verdicts on locks for applications: to use, to avoid, or neither."""

from dataclasses import dataclass

import pandas as pd

from lockwright_lab.study import descriptive
from lockwright_lab.study.cells import POINTS
from lockwright_lab.study.dataset import COUNT
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.report.links import BEST, BETWEEN, HARMFUL
from lockwright_lab.study.report.metric_figures import points


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one part at one point: a row per application, a column per lock.

    verdict: BEST for a lock that is among the best; HARMFUL for one that harms or has runs without
    a figure; BETWEEN for others; None where it has no figure. mean: of its runs. loss: best / mean
    - 1. count: of the mean.
    """

    verdict: pd.DataFrame
    mean: pd.DataFrame
    loss: pd.DataFrame
    count: pd.DataFrame


def verdicts_at(part: MachineMetric, point: str) -> Verdicts:
    """Return the verdicts of the locks for all applications at one, max or opt."""
    at_point = part.cells.at(point)
    counts = part.cells.counts(point)
    losses = descriptive.loss_to_best(part.cells, point)
    best = part.among_best(point)
    lost = descriptive.lost_at(part.cells, part.unfinished, point)
    words = {}
    for name in at_point.applications:
        row = at_point.row(name)
        harmful = part.rule.harmful(row)
        ran = at_point.mean.loc[name].notna()
        words[name] = [
            None if not measured else HARMFUL if bad or failed else BEST if good else BETWEEN
            for measured, good, bad, failed in zip(
                ran, best.loc[name], harmful, lost.loc[name], strict=True
            )
        ]
    word = pd.DataFrame(words, index=at_point.locks, dtype=object).T
    return Verdicts(word, at_point.mean, losses, counts)


class MetricView:
    """A machine and metric, with the data that its pages share. points: those of "one", "max" and
    "opt" that differ; max only for a study at one count. verdicts: by each of the three points.
    spreads: relative standard deviation of the runs, a row per application and count, by lock."""

    def __init__(self, part: MachineMetric) -> None:
        self.part = part
        self.points = points(part)
        self.verdicts = {point: verdicts_at(part, point) for point in POINTS}
        groups = part.sample.frame.groupby(["application", COUNT, "lock"]).value
        self.spreads = (groups.std(ddof=1) / groups.mean()).unstack("lock")
