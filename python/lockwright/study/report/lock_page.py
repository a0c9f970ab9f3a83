"""The page of a lock: what it is, where it wins and where it harms."""

import math
from html import escape

from lockwright.base import numbers
from lockwright.page.table import grid, number, row
from lockwright.study.part import Part
from lockwright.study.report import links, traits
from lockwright.study.report.figure import PROGRAM, Dots, Figure, series
from lockwright.study.report.part_figures import WORDS, places
from lockwright.study.report.program_page import KIND, Standings
from lockwright.study.report.verdicts import BEST, HARMFUL


def about(name: str) -> str:
    """What the registry says of it."""
    lock = traits.known().get(name)
    if lock is None:
        return "<p>This installation has no lock of this name.</p>" if traits.known() else ""
    facts = ", ".join([lock.category, f"waits by {lock.waiting}", *lock.properties()])
    small = f"{escape(facts)}. {escape(lock.reference)}."
    return f'<p>{escape(lock.summary)}</p><p class="quiet">{small}</p>'


def figure(part: Part, lock: str, found: Standings) -> Figure | None:
    """How far it is behind the best lock of each lock-sensitive application."""
    chosen = part.sensitive.applications
    losses = found["max"].loss.loc[chosen, lock].dropna().sort_values()
    if losses.empty:
        return None
    used = places(part)
    both = {
        f"at {WORDS[place]}": 1 + found[place].loss.loc[losses.index, lock]
        for place in used[1:] or used
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


def summary(part: Part, lock: str, found: Standings) -> str:
    """Where it wins and where it harms, as HTML."""
    chosen = part.sensitive.applications
    words = found["max"].word.loc[chosen, lock].dropna() if chosen else None
    if words is None or words.empty:
        return "<p>It was run with no application that is lock-sensitive.</p>"
    wins, harms = (list(words.index[words == word]) for word in (BEST, HARMFUL))
    losses = found["max"].loss.loc[chosen, lock]
    beats = part.matrices["max"].average
    place = int(beats.rank(ascending=False, method="min")[lock])
    harmed = ", ".join(
        f"{links.link(PROGRAM, name)} ({numbers.ratio(1 + losses[name])})"
        for name in sorted(harms, key=lambda name: -losses[name])
    )
    return (
        f"<p>At {WORDS['max']}, of {len(words)} lock-sensitive applications it is among the best"
        f" for <b>{len(wins)}</b> and harms <b>{len(harms)}</b>. On average it beats each other"
        f" lock for {100 * beats[lock]:.0f} % of them: place {place} of {len(beats)}.</p>"
        f'<p class="use-these"><b>Wins</b>: {links.programs(wins) or "nowhere"}</p>'
        f'<p class="avoid-these"><b>Harms</b> (in brackets how many times as good the'
        f" best lock is): {harmed or 'nowhere'}</p>"
    )


def table(part: Part, lock: str, found: Standings) -> str:
    """A line for each application."""
    used = places(part)
    columns = ["application", "sensitive", "advice"]
    columns += [f"behind the best at {place}, %" for place in used]
    columns += ["best at" + (f" ({part.sample.counted})" if part.sample.counted else "")]
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
        rows.append(row(cells, KIND.get(word, ""), links.where(PROGRAM, name)))
    return grid(columns, rows)
