"""The page of a program: which locks to use, which to avoid, and why."""

import math
from collections.abc import Iterator
from html import escape

import pandas as pd

from lockwright.base import numbers
from lockwright.page.table import grid, number, row
from lockwright.study.cells import PLACES
from lockwright.study.dataset import COUNT
from lockwright.study.part import Part
from lockwright.study.report import links, traits
from lockwright.study.report.figure import LOCK, Dots, Figure, Lines, Series
from lockwright.study.report.figure import numbers as to_numbers
from lockwright.study.report.part_figures import WORDS, places
from lockwright.study.report.verdicts import BEST, HARMFUL, Standing
from lockwright.study.rules import HARM

_UNSTEADY = 0.20
"""A relative standard deviation above which the mean of the runs says little."""

KIND = {BEST: "close", HARMFUL: "incomplete"}
"""How lines of tables look."""

Standings = dict[str, Standing]


def figure(part: Part, application: str) -> Figure:
    """The metric over the counts; for a single count, a dot for each lock."""
    means = part.whole.mean.loc[application].dropna(axis=1, how="all")
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
            Dots(list(line.index), [Series("mean", to_numbers(line))], unit, of_rows=LOCK),
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
        Lines(
            [float(count) for count in means.index],
            [Series(str(lock), to_numbers(means[lock])) for lock in means],
            counted,
            unit,
            logarithmic=wide,
        ),
    )


def advice(part: Part, application: str, found: Standings, spreads: pd.DataFrame) -> str:
    """What to use, what to avoid and why, as HTML."""
    words = found["max"].word.loc[application].dropna()
    good, bad = (by_mean(found["max"], application, word) for word in (BEST, HARMFUL))
    lines = [f"<p>{_matter(part, application)}</p>"]
    lost = _unfinished(part, application)
    alike = part.rule.among_best(part.whole.at("max").row(application)).sum() == len(words)
    if alike and not bad and not lost:
        lines.append("<p>No lock is told apart from the best one: keep the one that you have.</p>")
    else:
        lines += list(_lists(part, application, found, good, bad))
        if lost:
            lines.append(f"<p><b>Came to no figure</b>: {', '.join(lost)}</p>")
        reasons = list(_reasons(part, application, found, spreads, good, bad))
        lines.append("<h4>Why</h4><ul>" + "".join(f"<li>{each}</li>" for each in reasons) + "</ul>")
    return "".join(lines)


def table(part: Part, application: str, found: Standings, spreads: pd.DataFrame) -> str:
    """A line for each lock."""
    used = places(part)
    counted = part.sample.counted
    what = part.sample.quantity
    columns = ["lock", "advice"]
    columns += [f"{what} at {place}" for place in used]
    columns += ["best at" + (f" ({counted})" if counted else "")] if len(used) > 1 else []
    columns += [f"behind the best at {place}, %" for place in used]
    columns += ["rel. sd at max, %"]
    rows = []
    count = part.whole.mean.loc[application].index.max()
    order = found["max"].mean.loc[application].sort_values(ascending=False).index
    for lock in order:
        if part.whole.mean.loc[application][lock].isna().all():
            continue
        word = found["max"].word.at[application, lock] or ""
        cells = [(lock, lock), (word, word)]
        for place in used:
            value = found[place].mean.at[application, lock]
            cells.append(number(value, numbers.figure(value)))
        if len(used) > 1:
            best = found["opt"].count.at[application, lock]
            cells.append(number(best, f"{best:.0f}"))
        for place in used:
            loss = found[place].loss.at[application, lock]
            cells.append(number(loss, f"{100 * loss:.0f}"))
        spread = spreads.loc[application, count].get(lock, math.nan)
        cells.append(number(spread, f"{100 * spread:.1f}"))
        rows.append(row(cells, KIND.get(word, ""), links.where(LOCK, lock)))
    return grid(columns, rows)


def by_mean(at: Standing, application: str, word: str) -> list[str]:
    """The locks of which that is said, the highest mean first."""
    words = at.word.loc[application]
    means = at.mean.loc[application][words.index[words == word]]
    return list(means.sort_values(ascending=False).index)


def _matter(part: Part, application: str) -> str:
    line = part.effect.loc[application]
    how = f"the best lock is {numbers.ratio(1 + line.gain_max)} times as good as the worst"
    deviation = f"R.Dev {100 * line.rdev_max:.0f} %"
    if part.rule.intervals and not math.isnan(line.rdev_max_low):
        deviation += (
            f", {100 * line.rdev_max_quiet:.0f} % without noise: 95 % interval"
            f" {100 * line.rdev_max_low:.0f} to {100 * line.rdev_max_high:.0f} %"
        )
    at = WORDS["max"] if len(places(part)) > 1 else "the one count"
    if line.sensitive:
        return f"<b>The lock matters</b>: at {at}, {how} ({deviation})."
    if line.undecided:
        return (
            f"<b>The runs cannot tell whether the lock matters</b>: at {at}, {how}, but noise may"
            f" explain it ({deviation})."
        )
    return f"<b>The lock matters little</b>: at {at}, {how} ({deviation})."


def _lists(
    part: Part, application: str, found: Standings, good: list[str], bad: list[str]
) -> Iterator[str]:
    several = len(places(part)) > 1
    at = f" at {WORDS['max']}" if several else ""
    if good:
        yield f'<p class="use-these"><b>Use</b>{at}: {links.locks(good)}</p>'
    else:
        yield f"<p><b>Use</b>{at}: no lock can be named.</p>"
    if several:
        best = by_mean(found["opt"], application, BEST)
        counts = found["opt"].count.loc[application]
        named = ", ".join(f"{links.link(LOCK, lock)} ({counts[lock]:.0f})" for lock in best)
        yield (
            f"<p><b>Use</b> where the number of {escape(part.sample.counted)} is yours to choose"
            f" (best number in brackets): {named or 'no lock can be named'}</p>"
        )
    if bad:
        losses = found["max"].loss.loc[application]
        named = ", ".join(
            f"{links.link(LOCK, lock)} ({numbers.ratio(1 + losses[lock])})"
            for lock in sorted(bad, key=lambda lock: -losses[lock])
        )
        yield (
            f'<p class="avoid-these"><b>Avoid</b>{at} (in brackets how many times as good the best'
            f" lock is): {named}</p>"
        )
    else:
        yield f"<p><b>Avoid</b>{at}: none is shown to be more than {100 * HARM:.0f} % behind.</p>"


def _unfinished(part: Part, application: str) -> list[str]:
    """Locks with runs that came to no figure, and how many of how many."""
    counted = part.sample.counted
    lost = part.unfinished[part.unfinished.application == application]
    return [
        f"{links.link(LOCK, line.lock)}"
        + (f" at {line.count_} {escape(counted)}" if counted else "")
        + f" ({line.unfinished} of {line.runs} runs: {escape(line.outcome)})"
        for line in lost.rename(columns={COUNT: "count_"}).itertuples()
    ]


def _reasons(
    part: Part,
    application: str,
    found: Standings,
    spreads: pd.DataFrame,
    good: list[str],
    bad: list[str],
) -> Iterator[str]:
    if part.rule.intervals:
        yield (
            "Use: no other lock is shown to be better, and the best mean is no more than"
            f" {100 * HARM:.0f} % higher. Avoid: another lock is shown to be better by more than"
            " that, or some runs came to no figure."
        )
    else:
        yield (
            f"Use: {escape(part.rule.meaning)}, and none is. Avoid: the best lock is more than"
            f" {100 * HARM:.0f} % better, or some runs came to no figure."
        )
    shared = list(traits.in_common(good, bad))
    if shared:
        yield (
            " ".join(map(escape, shared))
            + " What goes together is no proof of a cause, but says what to try."
        )
    if len(places(part)) > 1:
        yield from _over_counts(part, application, found)
    count = part.whole.mean.loc[application].index.max()
    wild = spreads.loc[application, count].dropna().sort_values(ascending=False)
    wild = wild[wild > _UNSTEADY]
    if len(wild):
        named = ", ".join(f"{links.link(LOCK, k)} ({100 * v:.0f} %)" for k, v in wild.items())
        yield (
            "Unsteady: runs under these locks lie far apart (relative standard deviation):"
            f" {named}."
        )


def _over_counts(part: Part, application: str, found: Standings) -> Iterator[str]:
    firsts = {place: found[place].mean.loc[application].dropna() for place in PLACES}
    first, last = firsts["one"].idxmax(), firsts["max"].idxmax()
    counted = escape(part.sample.counted)
    if first != last and first in firsts["max"].index:
        loss = found["max"].loss.at[application, first]
        yield (
            f"At the smallest number of {counted} {links.link(LOCK, first)} is best, and at the"
            f" largest the best lock is {numbers.ratio(1 + loss)} times as good as it."
        )
    counts = found["opt"].count.loc[application].dropna()
    largest = part.whole.mean.loc[application].index.max()
    fewer = int((counts < largest).sum())
    best = firsts["opt"].idxmax()
    yield (
        f"{fewer} of {len(counts)} locks are at their best with fewer than {largest} {counted}; the"
        f" best of all is {links.link(LOCK, best)} with {counts[best]:.0f}."
    )
