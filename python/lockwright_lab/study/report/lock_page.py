"""The page of a lock: the applications for which it is among the best or harmful."""

from typing import NamedTuple

import pandas as pd
from lockwright.base import numbers

from lockwright_lab.study.report import plots
from lockwright_lab.study.report.links import BEST, HARMFUL, PROGRAM
from lockwright_lab.study.report.metric_figures import WORDS
from lockwright_lab.study.report.plots import Figure
from lockwright_lab.study.report.verdicts import MetricView
from lockwright_lab.study.result_table import NUMBER, TEXT, Table


def figure(view: MetricView, lock: str) -> Figure | None:
    """Return the figure of its distance to the best lock of each lock-sensitive application."""
    part, verdicts = view.part, view.verdicts
    sensitive = part.sensitive.applications
    losses = verdicts["max"].loss.loc[sensitive, lock].dropna().sort_values()
    if losses.empty:
        return None
    both = {
        f"at {WORDS[point]}": 1 + verdicts[point].loss.loc[losses.index, lock]
        for point in view.points[1:] or view.points
    }
    middle = float(losses.median())
    return Figure(
        f"{part.name}.lock.{lock}",
        f"{part.sample.title}: how far {lock} is behind",
        "Mean of the best lock / mean of this one, for each lock-sensitive application, on a"
        " logarithmic scale; 1: it is the best itself.",
        f"At {WORDS['max']}, for half of the applications the best lock is"
        f" {numbers.ratio(1 + middle)} times as good or more.",
        plots.dots(both, "best lock / this lock", logarithmic=True, line=1.0, of_rows=PROGRAM),
    )


class Summary(NamedTuple):
    """A lock among the lock-sensitive applications at the largest count. applications: number that
    it was run with. wins: those for which it is among the best. harms: the ratio of the best lock
    to it, by application, the worst first. beats: the mean share in per cent of applications for
    which it beats another lock. rank: by that; locks: their number."""

    applications: int
    wins: list[str]
    harms: dict[str, str]
    beats: str
    rank: int
    locks: int


def summary(view: MetricView, lock: str) -> Summary | None:
    """Return the summary of a lock; None if it was run with no lock-sensitive application."""
    part, verdicts = view.part, view.verdicts["max"]
    sensitive = part.sensitive.applications
    words = verdicts.verdict.loc[sensitive, lock].dropna() if sensitive else None
    if words is None or words.empty:
        return None
    losses = verdicts.loss.loc[words.index[words == HARMFUL], lock].sort_values(
        ascending=False, kind="stable"
    )
    beats = part.matrices["max"].average
    return Summary(
        len(words),
        list(words.index[words == BEST]),
        {name: numbers.ratio(1 + loss) for name, loss in losses.items()},
        f"{100 * beats[lock]:.0f}",
        int(beats.rank(ascending=False, method="min")[lock]),
        len(beats),
    )


def programs(view: MetricView, lock: str) -> Table:
    """Return a row for each application that the lock was run with."""
    verdicts, counted = view.verdicts, view.part.sample.counted
    advice = verdicts["max"].verdict[lock].dropna()
    sensitive = view.part.effect.sensitive.map({True: "yes", False: "no"})
    best_at = "best at" + (f" ({counted})" if counted else "")
    columns = {
        "sensitive": sensitive,
        "advice": advice,
        **{f"behind the best at {at}, %": verdicts[at].loss[lock] for at in view.points},
        best_at: verdicts[view.points[-1]].count[lock],
    }
    frame = pd.DataFrame(columns).loc[advice.index]
    formats = {"sensitive": TEXT, "advice": TEXT, best_at: NUMBER}
    return Table("", "", frame, "", "application", formats=formats)
