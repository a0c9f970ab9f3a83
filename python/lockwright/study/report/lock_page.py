"""The page of a lock: the applications for which it is among the best or harmful."""

import math
from typing import NamedTuple

from lockwright.base import numbers
from lockwright.page.rows import Row, number
from lockwright.study.report import links
from lockwright.study.report.metric_figures import WORDS
from lockwright.study.report.plots import PROGRAM, Dots, Figure, series
from lockwright.study.report.verdicts import BEST, HARMFUL, KIND, MetricView


def figure(view: MetricView, lock: str) -> Figure | None:
    """Return the figure of its distance to the best lock of each lock-sensitive application."""
    part, found = view.part, view.standings
    chosen = part.sensitive.applications
    losses = found["max"].loss.loc[chosen, lock].dropna().sort_values()
    if losses.empty:
        return None
    both = {
        f"at {WORDS[place]}": 1 + found[place].loss.loc[losses.index, lock]
        for place in view.places[1:] or view.places
    }
    middle = float(losses.median())
    return Figure(
        f"{part.name}.lock.{lock}",
        f"{part.sample.title}: how far {lock} is behind",
        "Mean of the best lock / mean of this one, for each lock-sensitive application, on a"
        " logarithmic scale; 1: it is the best itself.",
        f"At {WORDS['max']}, for half of the applications the best lock is"
        f" {numbers.ratio(1 + middle)} times as good or more.",
        Dots(list(losses.index), series(both), "best lock / this lock", True, 1.0, PROGRAM),
    )


class Summary(NamedTuple):
    """A lock among the lock-sensitive applications at the largest count.

    applications: number that it was run with. wins: those for which it is among the best. harms:
    the ratio of the best lock to it, by application, the worst first. beats: the mean share in per
    cent of applications for which it beats another lock. place: its rank by that, out of `places`.
    """

    applications: int
    wins: list[str]
    harms: dict[str, str]
    beats: str
    place: int
    places: int


def summary(view: MetricView, lock: str) -> Summary | None:
    """Return the summary of a lock; None if it was run with no lock-sensitive application."""
    part, found = view.part, view.standings["max"]
    chosen = part.sensitive.applications
    words = found.word.loc[chosen, lock].dropna() if chosen else None
    if words is None or words.empty:
        return None
    losses = found.loss.loc[words.index[words == HARMFUL], lock].sort_values(
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


def columns(view: MetricView) -> list[str]:
    """Return the headings of programs()."""
    counted = view.part.sample.counted
    return [
        *("application", "sensitive", "advice"),
        *(f"behind the best at {place}, %" for place in view.places),
        "best at" + (f" ({counted})" if counted else ""),
    ]


def programs(view: MetricView, lock: str) -> list[Row]:
    """Return a row for each application that the lock was run with."""
    part, found, used = view.part, view.standings, view.places
    rows = []
    for name in part.whole.applications:
        word = found["max"].word.at[name, lock]
        if word is None or (isinstance(word, float) and math.isnan(word)):
            continue
        mark = "yes" if part.effect.sensitive[name] else "no"
        cells = [(name, name), (mark, mark), (word, word)]
        for place in used:
            loss = found[place].loss.at[name, lock]
            cells.append(number(loss, f"{100 * loss:.0f}"))
        count = found[used[-1]].count.at[name, lock]
        cells.append(number(count, f"{count:.0f}"))
        rows.append(Row(cells, KIND.get(word, ""), links.where(PROGRAM, name)))
    return rows
