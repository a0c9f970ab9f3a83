"""The figures of one machine in one metric."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from lockwright.base.numbers import percent
from lockwright.stats.near import HARM, NEAR

from lockwright_lab.study import best_lock_ratio, descriptive
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.report import plots
from lockwright_lab.study.report.links import LOCK, PROGRAM
from lockwright_lab.study.report.plots import Figure, leaders

WORDS = {"one": "the smallest count", "max": "the largest count", "opt": "each lock's best count"}
"""The names of POINTS: the published study's one node, max nodes and opt nodes."""

_FAILED = "x"
"""The mark of a lock with runs that gave no figure."""

_WIDEST = 3.0
"""The largest distance to the best lock on a coverage curve."""


def points(part: MachineMetric) -> list[str]:
    """Return the POINTS that differ: max only for a study at one count."""
    several = part.cells.mean.index.get_level_values(1).nunique() > 1
    return ["one", "max", "opt"] if several else ["max"]


def figures_of_part(part: MachineMetric) -> Iterator[Figure]:
    """Yield all figures of one machine and metric, in reading order."""
    yield loss_map(part)
    yield _gain(part)
    if not part.sensitive.applications:
        return
    at_points = points(part)
    if "opt" in at_points:
        yield _relative(part, "opt")
    for point in at_points:
        yield _pairwise(part, point)
    yield _harmful(part)
    for point in at_points[1:] or at_points:
        yield _coverage(part, point)
    yield _portfolio(part)
    if part.changes is not None:
        yield _changes(part)
        yield _best_count(part)
        yield _opt_gain(part)
        yield _ratio(part)


def loss_map(part: MachineMetric) -> Figure:
    """Return the map that the report opens with: how far every lock is behind the best lock of
    every application at its largest count."""
    at_max = part.cells.at("max")
    losses = 1 - at_max.mean.div(at_max.mean.max(axis=1), axis=0)
    failed = descriptive.lost_at(part.cells, part.unfinished, "max")
    behind = losses.mask(failed, 1.0)
    locks = behind.mean().sort_values(kind="stable").index
    applications = behind.max(axis=1).sort_values(ascending=False, kind="stable").index
    drawn = behind.loc[applications, locks]
    texts = plots.percents(drawn).mask(failed.loc[applications, locks], _FAILED)
    most = losses.max().idxmax()
    application = losses[most].idxmax()
    shows = "All locks are alike."
    if losses[most].max() > 0:
        row = at_max.row(application)
        is_shown = part.rule.better(row)[:, at_max.locks.index(most)].any()
        shows = (
            f"Over all programs, {locks[0]} loses least on average,"
            f" {percent(behind[locks[0]].mean())}. {most} is farthest behind:"
            f" {percent(losses[most].max())}, in {application}"
            f"{'' if is_shown else ', which may be noise'}."
        )
    at = f", at {WORDS['max']}" if len(points(part)) > 1 else ""
    mark = (
        f" {_FAILED}: runs without a figure, as after a timeout." if failed.any(axis=None) else ""
    )
    return Figure(
        f"{part.name}.map",
        f"How far each lock is behind the best lock of each application{at}",
        "Loss of the mean against that of the application's best lock, in per cent: 0 is the best"
        " lock; the redder, the more is lost. The lock with the least loss on average is on the"
        f" left, the application with the largest loss at the top; grey: not run.{mark}",
        shows,
        plots.heat(drawn, (0.0, 1.0), "% behind the best lock", (PROGRAM, LOCK), texts),
        f"{part.name}.loss-max",
    )


def _gain(part: MachineMetric) -> Figure:
    table = part.effect.sort_values("gain_max", ascending=False)
    at = {f"at {WORDS[point]}": f"gain_{point}" for point in points(part)}
    ends = None
    if part.rule.intervals:
        ends = {
            name: (1 + table[f"{column}_low"], 1 + table[f"{column}_high"])
            for name, column in at.items()
        }
    most, least = table.gain_max.idxmax(), table.gain_max.idxmin()
    interval = (
        " Thin lines: 95 % intervals of the ratio without the noise of the runs."
        if part.rule.intervals
        else ""
    )
    return Figure(
        f"{part.name}.gain",
        "How many times better the best lock is than the worst",
        "Mean of the best lock / mean of the worst lock of each application, on a logarithmic"
        f" scale; 1: all locks are alike.{interval}",
        f"At the largest count, the best lock is {1 + table.gain_max[most]:.3g} times as good as"
        f" the worst for {most}, and {1 + table.gain_max[least]:.3g} times for {least}.",
        plots.dots(
            {name: 1 + table[column] for name, column in at.items()},
            "best lock / worst lock",
            logarithmic=True,
            line=1.0,
            of_rows=PROGRAM,
            ends=ends,
        ),
        f"{part.name}.effect",
    )


def _relative(part: MachineMetric, point: str) -> Figure:
    means = part.sensitive.at(point).mean
    relative = means.div(means.max(axis=1), axis=0)
    relative = relative.loc[relative.min(axis=1).sort_values().index]
    relative = relative[relative.mean().sort_values(ascending=False).index]
    best, worst = relative.mean().idxmax(), relative.mean().idxmin()
    return Figure(
        f"{part.name}.relative-{point}",
        f"Performance relative to the best lock of each application, at {WORDS[point]}",
        "Mean of the lock / mean of the best lock of the application, in per cent; lock-sensitive"
        " applications only. Locks nearest to the best on average are on the left, applications"
        " with the largest losses at the top; grey: not run.",
        f"On average, {best} reaches {100 * relative.mean()[best]:.0f} % of the best lock, and"
        f" {worst} {100 * relative.mean()[worst]:.0f} %.",
        plots.heat(relative, (1.0, 0.0), "% of the best lock", (PROGRAM, LOCK)),
        f"{part.name}.loss-{point}" if point != "one" else "",
    )


def _pairwise(part: MachineMetric, point: str) -> Figure:
    matrix = part.matrices[point]
    order = matrix.average.sort_values(ascending=False).index
    shares = matrix.loc[order, order]
    most = matrix.average.max()
    return Figure(
        f"{part.name}.pairwise-{point}",
        f"Which lock beats which, at {WORDS[point]}",
        "Share of the lock-sensitive applications, of those that both were run on, for which the"
        " lock of the row is better than that of the column, in per cent. The lock that beats the"
        " most others is first.",
        f"Most often the better one of two: {leaders(matrix.average)}, on average over the other"
        f" locks for {100 * most:.0f} % of the applications.",
        plots.heat(shares, (0.0, 1.0), "% of applications", (LOCK, LOCK)),
        f"{part.name}.pairwise-{point}",
    )


def _harmful(part: MachineMetric) -> Figure:
    at_points = [point for point in points(part) if point in part.harmful]
    table = part.harmful[at_points].sort_values("max")
    low, high = table["max"].min(), table["max"].max()
    shows = f"Each lock harms {100 * low:.0f} % of the applications at the largest count."
    if low < high:
        shows = (
            f"At the largest count {leaders(table['max'], least=True)} harms least,"
            f" {100 * low:.0f} % of the applications, and {leaders(table['max'])} most,"
            f" {100 * high:.0f} %."
        )
    return Figure(
        f"{part.name}.harmful",
        "For how many applications a lock is harmful",
        "Share of the lock-sensitive applications for which the best lock is more than"
        f" {100 * HARM:.0f} % better.",
        shows,
        plots.dots(
            {f"at {WORDS[point]}": 100 * table[point] for point in at_points},
            "% of applications that it harms",
            of_rows=LOCK,
        ),
        f"{part.name}.harmful",
    )


def _coverage(part: MachineMetric, point: str) -> Figure:
    losses = 1 + descriptive.loss_to_best(part.sensitive, point)
    behind = np.geomspace(1.0, _WIDEST, 41)
    curves = {
        lock: [100 * (losses[lock].dropna() <= limit + 1e-9).mean() for limit in behind]
        for lock in losses
    }
    near = pd.Series({lock: (losses[lock].dropna() <= 1 / NEAR).mean() for lock in losses})
    return Figure(
        f"{part.name}.coverage-{point}",
        f"Coverage: how often a lock is near the best, at {WORDS[point]}",
        "Height: share of the lock-sensitive applications for which the ratio of the best lock to"
        " this one is at most the value on the horizontal axis (a performance profile, Dolan and"
        " Moré, 2002). The left end is how often the lock is the best one; a higher curve is of a"
        " safer lock. Means only, without regard to noise.",
        f"Most often within 5 % of the best: {leaders(near)}, for {100 * near.max():.0f} % of the"
        " applications.",
        plots.lines(
            pd.DataFrame(curves, [round(float(limit), 4) for limit in behind]),
            "best lock / this lock, at most",
            "% of applications",
            steps=False,
        ),
        f"{part.name}.best",
    )


def _portfolio(part: MachineMetric) -> Figure:
    """Return the figure of locks chosen greedily so that together they contain a best one for as
    many applications as possible."""
    good = part.among_best("max").loc[part.sensitive.applications].T
    left, names, reached = set(good.columns), [], []
    while left:
        gained = good[sorted(left)].sum(axis=1)
        lock = str(gained.idxmax())
        if not gained[lock]:
            break
        names.append(lock)
        left -= set(good.columns[good.loc[lock]])
        reached.append(100 * (1 - len(left) / good.shape[1]))
    subject = f"One of {len(names)} locks is" if len(names) > 1 else "One lock is"
    return Figure(
        f"{part.name}.portfolio",
        "How many locks are needed",
        "First the lock that is among the best for the most lock-sensitive applications at the"
        " largest count; then repeatedly the one that adds the most applications. Height: share of"
        " the applications for which one of the locks so far was run and is among the best.",
        f"{subject} among the best for {reached[-1]:.0f} % of the applications; {names[0]} alone"
        f" for {reached[0]:.0f} %.",
        plots.bars(
            pd.Series(reached, [names[0], *(f"+ {name}" for name in names[1:])]),
            "% of applications",
        ),
    )


def _changes(part: MachineMetric) -> Figure:
    assert part.changes is not None
    table = part.changes.loc[part.changes.iloc[:, -2].sort_values(ascending=False).index]
    all_counts = table.columns[-2]
    return Figure(
        f"{part.name}.changes",
        f"How the order of the locks changes with the number of {part.sample.counted}",
        "Share of the pairs of locks, in per cent, whose relation (better, equal, worse) differs"
        f" between two numbers of {part.sample.counted};"
        f" {all_counts}: is not the same at all of them; reversed: each lock of the pair is better"
        " at some number. Empty: not run there.",
        f"On average {100 * table[all_counts].mean():.0f} % of the pairs change, and"
        f" {100 * table.reversed.mean():.0f} % are reversed.",
        plots.heat(table, (0.0, 1.0), "% of pairs", (PROGRAM, "")),
        f"{part.name}.changes",
    )


def _best_count(part: MachineMetric) -> Figure:
    table = descriptive.best_counts(part.sensitive)
    last = table.index.max()
    return Figure(
        f"{part.name}.best-count",
        f"At which number of {part.sample.counted} locks are at their best",
        "Share of all pairs of a lock-sensitive application and a lock whose mean is highest"
        " there.",
        f"{100 * table.share[last]:.0f} % of them are at their best with all {last}"
        f" {part.sample.counted}.",
        plots.bars(100 * table.share, "% of pairs"),
        f"{part.name}.best-count",
    )


def _opt_gain(part: MachineMetric) -> Figure:
    gains, where = descriptive.opt_gain(part.sensitive), part.sensitive.counts("opt")
    gains = gains.loc[gains.mean(axis=1).sort_values(ascending=False).index]
    gains = gains[gains.mean().sort_values().index]
    where = where.loc[gains.index, gains.columns]
    texts = plots.each(where, lambda count: "" if pd.isna(count) else f"{count:.0f}")
    middle = float(gains.stack().median())
    return Figure(
        f"{part.name}.opt-gain",
        f"Gain of a lock at its best number of {part.sample.counted}",
        f"Colour: mean at the best number of {part.sample.counted} / mean at the largest, where"
        " each step of 1 on the scale is a doubling and 5 stands for all above; in the cell: that"
        " best number.",
        f"Half of the pairs of an application and a lock gain {100 * middle:.0f} % or more over the"
        " largest count.",
        plots.heat(np.log2(1 + gains), (0.0, 5.0), "doublings", (PROGRAM, LOCK), texts),
        f"{part.name}.opt-gain",
    )


def _ratio(part: MachineMetric) -> Figure:
    table = best_lock_ratio.best_lock_ratio(
        part.sensitive, part.counts or None, best_lock_ratio.EXPECTED
    )
    table = table[table.median().sort_values(ascending=False).index]
    known = {lock: table[lock].dropna() for lock in table if table[lock].notna().any()}
    first = next(iter(known))
    return Figure(
        f"{part.name}.best-lock-ratio",
        "How near one lock comes to the best lock at each count",
        "Average of the lock over all counts / average of the best lock at each count, for each"
        " lock-sensitive application: a box holds the middle half, its line is the median. pt-exp"
        " is the mean of ttas and pthread, the expectation of a random choice between them.",
        f"{first} has the highest median: {100 * float(known[first].median()):.0f} %.",
        plots.boxes(
            {lock: 100 * values for lock, values in known.items()},
            "% of the best lock at each count",
            LOCK,
        ),
        f"{part.name}.best-lock-ratio",
    )
