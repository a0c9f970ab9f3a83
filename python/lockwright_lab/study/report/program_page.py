"""The page of a program: which locks to use, which to avoid, and why."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
from lockwright.base import numbers
from lockwright.stats.near import HARM, TOLERANCE
from markupsafe import Markup

from lockwright_lab.study.cells import POINTS
from lockwright_lab.study.dataset import COUNT
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.metric_tables import marks
from lockwright_lab.study.report import common_traits, links, plots
from lockwright_lab.study.report.links import BEST, HARMFUL, LOCK
from lockwright_lab.study.report.metric_figures import WORDS
from lockwright_lab.study.report.plots import Figure
from lockwright_lab.study.report.verdicts import MetricView, Verdicts
from lockwright_lab.study.result_table import FIGURE, MISSING, NUMBER, RATIO, TEXT, Table

_UNSTEADY = 0.20
"""Relative standard deviation above which the mean of the runs is called unsteady."""


def figure(part: MachineMetric, application: str) -> Figure:
    """Return the figure of the metric over the counts; for a single count, a dot for each lock."""
    means = part.cells.mean.loc[application].dropna(axis=1, how="all")
    counted = part.sample.counted or "count"
    name = f"{part.name}.program.{application}"
    title = part.sample.metric + (f" by {counted}" if len(means) > 1 else " of each lock")
    unit = f"{part.sample.quantity}, higher is better"
    if len(means) < 2:
        line = means.iloc[0].sort_values(ascending=False)
        return Figure(
            name,
            title,
            "Mean of the runs of each lock.",
            f"{line.index[0]} has the highest mean.",
            plots.dots({"mean": line}, unit, of_rows=LOCK),
        )
    last = means.iloc[-1].dropna()
    wide = bool(means.max().max() > 8 * means.min().min())
    return Figure(
        name,
        title,
        f"Mean of the runs of each lock at each number of {counted}."
        + (" Logarithmic scale." if wide else ""),
        f"At {means.index[-1]} {counted}, {last.idxmax()} has the highest mean and"
        f" {last.idxmin()} the lowest.",
        plots.lines(means, counted, unit, logarithmic=wide),
    )


class Advice(NamedTuple):
    """The locks to use for an application, those to avoid, and the reasons.

    verdict, effect: whether the lock matters, and by how much. at: the count of the lists; empty
    if there is only one. alike: whether no lock is shown to differ from the best one; then the rest
    is empty. best_counts: the best locks at their best counts, each with its count. bad: ratio of
    the best lock to each. unfinished: runs without a figure.
    """

    verdict: str
    effect: str
    at: str
    alike: bool
    good: list[str]
    best_counts: dict[str, str]
    bad: dict[str, str]
    unfinished: list[Any]
    reasons: list[str]
    harm: str = numbers.percent(HARM)


def advice(view: MetricView, application: str) -> Advice:
    """Return the advice on the locks of an application."""
    part, verdicts = view.part, view.verdicts
    good, bad = (by_mean(verdicts["max"], application, word) for word in (BEST, HARMFUL))
    lost = part.unfinished[part.unfinished.application == application]
    losses = verdicts["max"].loss.loc[application]
    counts = verdicts["opt"].count.loc[application]
    at_best = by_mean(verdicts["opt"], application, BEST)
    alike = _are_alike(view, application)
    return Advice(
        *_effect(view, application),
        at=WORDS["max"] if len(view.points) > 1 else "",
        alike=alike,
        good=good,
        best_counts={lock: f"{counts[lock]:.0f}" for lock in at_best},
        bad={
            lock: numbers.ratio(1 + losses[lock])
            for lock in sorted(bad, key=lambda lock: -losses[lock])
        },
        unfinished=list(lost.rename(columns={COUNT: "count_"}).itertuples()),
        reasons=[] if alike else list(_reasons(view, application, good, bad)),
    )


def _are_alike(view: MetricView, application: str) -> bool:
    """Return whether no lock is shown to differ from another, and each run has a figure."""
    row = view.part.cells.at("max").row(application)
    lost = view.part.unfinished.application == application
    return not view.part.rule.better(row).any() and not lost.any()


def programs(view: MetricView) -> Table:
    """Return whether the lock matters for each application, and which locks to use."""
    effect = view.part.effect.sort_values("rdev_max", ascending=False)
    use = []
    for name in effect.index:
        best = by_mean(view.verdicts["max"], name, BEST)
        more = f" and {len(best) - 6} more" if len(best) > 6 else ""
        use.append("any" if _are_alike(view, name) else ", ".join(best[:6]) + more or MISSING)
    columns = {
        "lock matters": marks(effect),
        "best / worst at max": 1 + effect.gain_max,
        "R.Dev at max, %": effect.rdev_max,
        "use at max": use,
    }
    formats = {"lock matters": TEXT, "best / worst at max": RATIO, "use at max": TEXT}
    frame = pd.DataFrame(columns, effect.index)
    return Table("", "", frame, "", "program", formats=formats)


def locks(view: MetricView, application: str) -> Table:
    """Return a row for each lock that the application was run with, the highest mean first."""
    verdicts, sample = view.verdicts, view.part.sample
    means = view.part.cells.mean.loc[application]
    advice = verdicts["max"].verdict.loc[application]
    best_at = "best at" + (f" ({sample.counted})" if sample.counted else "")
    quantities = {f"{sample.quantity} at {at}": at for at in view.points}
    spread = "rel. sd at max, %"
    columns = {
        "advice": advice.where(advice.notna(), ""),
        **{name: verdicts[at].mean.loc[application] for name, at in quantities.items()},
        **({best_at: verdicts["opt"].count.loc[application]} if view.points[1:] else {}),
        **{f"behind the best at {at}, %": verdicts[at].loss.loc[application] for at in view.points},
        spread: 100 * view.spreads.loc[application, means.index.max()],
    }
    order = verdicts["max"].mean.loc[application].sort_values(ascending=False).index
    frame = pd.DataFrame(columns).loc[[lock for lock in order if means[lock].notna().any()]]
    formats = {"advice": TEXT, best_at: NUMBER, spread: FIGURE, **dict.fromkeys(quantities, FIGURE)}
    return Table("", "", frame, "", "lock", formats=formats)


def by_mean(verdicts: Verdicts, application: str, verdict: str) -> list[str]:
    """Return the locks with this verdict, the highest mean first."""
    of_locks = verdicts.verdict.loc[application]
    means = verdicts.mean.loc[application][of_locks.index[of_locks == verdict]]
    return list(means.sort_values(ascending=False).index)


def _effect(view: MetricView, application: str) -> tuple[str, str]:
    """Return whether the lock matters, and how much better the best lock is than the worst."""
    part = view.part
    line = part.effect.loc[application]
    how = f"the best lock is {numbers.ratio(1 + line.gain_max)} times as good as the worst"
    deviation = f"R.Dev {100 * line.rdev_max:.0f} %"
    if part.rule.intervals and not math.isnan(line.rdev_max_low):
        deviation += (
            f", {100 * line.rdev_max_quiet:.0f} % without noise: 95 % interval"
            f" {100 * line.rdev_max_low:.0f} to {100 * line.rdev_max_high:.0f} %"
        )
    count = WORDS["max"] if len(view.points) > 1 else "the one count"
    if line.sensitive:
        return "The lock matters", f"at {count}, {how} ({deviation})"
    if line.undecided:
        return (
            "The runs cannot tell whether the lock matters",
            f"at {count}, {how}, but noise may explain it ({deviation})",
        )
    return "The lock matters little", f"at {count}, {how} ({deviation})"


def _reasons(view: MetricView, application: str, good: list[str], bad: list[str]) -> Iterator[str]:
    part = view.part
    if part.rule.intervals:
        yield (
            "Use: no other lock is shown to be better, and the mean is within"
            f" {numbers.percent(TOLERANCE)} of the best one. Avoid: another lock is shown to be"
            f" better by more than {numbers.percent(HARM)}, or some runs came to no figure."
        )
    else:
        yield (
            f"Use: {part.rule.meaning}, and none is. Avoid: the best lock is more than"
            f" {100 * HARM:.0f} % better, or some runs came to no figure."
        )
    shared = list(common_traits.differing_traits(good, bad))
    if shared:
        yield (
            " ".join(shared) + " A correlation does not prove a cause, but suggests what to try."
        )
    if len(view.points) > 1:
        yield from _over_counts(part, application, view.verdicts)
    count = part.cells.mean.loc[application].index.max()
    wild = view.spreads.loc[application, count].dropna().sort_values(ascending=False)
    wild = wild[wild > _UNSTEADY]
    if len(wild):
        spreads = {lock: numbers.percent(spread) for lock, spread in wild.items()}
        yield Markup(
            "Unsteady: runs under these locks vary much (relative standard deviation): {}."
        ).format(links.with_figures(LOCK, spreads))


def _over_counts(
    part: MachineMetric, application: str, verdicts: dict[str, Verdicts]
) -> Iterator[str]:
    firsts = {point: verdicts[point].mean.loc[application].dropna() for point in POINTS}
    first, last = firsts["one"].idxmax(), firsts["max"].idxmax()
    counted = part.sample.counted
    if first != last and first in firsts["max"].index:
        loss = verdicts["max"].loss.at[application, first]
        yield Markup(
            "At the smallest number of {} {} is best, and at the largest the best lock is {} times"
            " as good as it."
        ).format(counted, links.link(LOCK, first), numbers.ratio(1 + loss))
    counts = verdicts["opt"].count.loc[application].dropna()
    largest = part.cells.mean.loc[application].index.max()
    fewer = int((counts < largest).sum())
    best = firsts["opt"].idxmax()
    yield Markup(
        "{} of {} locks are at their best with fewer than {} {}; the best of all is {} with {:.0f}."
    ).format(fewer, len(counts), largest, counted, links.link(LOCK, best), counts[best])
