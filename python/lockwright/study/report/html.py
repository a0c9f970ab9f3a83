"""The report as one HTML file: an overview, and a page for each subject, program and lock.

All pages are in the file; the address behind # chooses one (page/page.js), and without scripts they
follow each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from lockwright.page import assemble
from lockwright.page.table import grid, number, row
from lockwright.preload.locks import BASELINE
from lockwright.study.analysis import Analysis
from lockwright.study.dataset import DataSet
from lockwright.study.part import Part
from lockwright.study.report import links, lock_page, overview, program_page
from lockwright.study.report.figure import LOCK, PROGRAM, Figure
from lockwright.study.report.figures import Figures
from lockwright.study.report.part_figures import places
from lockwright.study.report.program_page import Standings
from lockwright.study.report.tables import of_study
from lockwright.study.report.verdicts import BEST, spreads, standing
from lockwright.study.table import Table

_PAGE = Path(__file__).with_name("page")


@dataclass(frozen=True)
class _Known:
    """What the pages of one part are made of."""

    part: Part
    standings: Standings
    spreads: pd.DataFrame


def render(
    data: DataSet, found: Analysis, figures: Figures, title: str, files: Sequence[str]
) -> str:
    """The whole file as text. title: plain text. files: what was read."""
    drawn: dict[str, Figure] = {}
    tables = {table.name: table for table in found.tables}
    known = [
        _Known(
            part, {place: standing(part, place) for place in ("one", "max", "opt")}, spreads(part)
        )
        for part in found.parts
    ]
    programs = sorted({name for part in found.parts for name in part.whole.applications})
    locks = sorted({name for part in found.parts for name in part.whole.locks})
    pages = [
        _page("overview", overview.page(data, found, files)),
        *(
            _page(
                links.target(links.STUDY, part.name),
                f"<h2>{escape(part.sample.title)}</h2>{_rule(part)}"
                + _figures(figures.of_part[part.name], tables, drawn)
                + _rest(found.tables, f"{part.name}.", figures),
            )
            for part in found.parts
        ),
        *(
            _page(
                links.target(links.MACHINE, machine),
                f"<h2>{escape(machine)}: energy, latency and interposition</h2>"
                + _figures(of, tables, drawn)
                + _rest([t for t in found.tables if _of_machine(t, machine, found)], "", figures),
            )
            for machine, of in figures.of_machine.items()
        ),
        _page("programs", _programs(known, programs)),
        *(
            _page(links.target(PROGRAM, each), _program(known, each, figures, drawn))
            for each in programs
        ),
        _page("locks", _locks(known, locks, tables)),
        *(_page(links.target(LOCK, each), _lock(known, each, drawn)) for each in locks),
    ]
    parts = {
        "title": escape(title),
        "nav": _navigation(found, figures),
        "pages": "\n".join(pages),
    }
    whole: dict[str, Any] = {
        "locks": locks,
        "baseline": BASELINE,
        "figures": {name: figure.drawing() for name, figure in drawn.items()},
    }
    return assemble.fill(_PAGE, parts, whole)


def _page(name: str, inside: str) -> str:
    return f'<section class="page" id="{escape(name)}">{inside}</section>'


def _navigation(found: Analysis, figures: Figures) -> str:
    entries = [("#overview", "Answers")]
    entries += [(links.where(links.STUDY, p.name), p.sample.title) for p in found.parts]
    entries += [(links.where(links.MACHINE, m), f"{m}: more") for m in figures.of_machine]
    entries += [("#programs", "Programs"), ("#locks", "Locks")]
    return "".join(f'<a href="{where}">{escape(text)}</a>' for where, text in entries)


def _rule(part: Part) -> str:
    return f'<p class="quiet">{escape(part.rule.meaning)}. {escape(_counts(part))}</p>'


def _counts(part: Part) -> str:
    if len(places(part)) < 2:
        return "All runs are at one count."
    return (
        "One, max and opt are the smallest count of an application, its largest, and each lock's"
        " own best one."
    )


def _figures(figures: Iterable[Figure], tables: dict[str, Table], drawn: dict[str, Figure]) -> str:
    return "".join(_figure(each, tables.get(each.table), drawn) for each in figures)


def _figure(figure: Figure, table: Table | None, drawn: dict[str, Figure]) -> str:
    drawn[figure.name] = figure
    name = escape(figure.name)
    below = (
        f"<details><summary>The same in a table</summary>{of_study(table)}</details>"
        if table is not None
        else ""
    )
    return (
        f'<figure id="figure/{name}"><h3>{escape(figure.title)}</h3>'
        f"<figcaption><b>{escape(figure.shows)}</b> {escape(figure.how)}</figcaption>"
        f'<div class="plot" data-figure="{name}" role="img"'
        f' aria-label="{escape(figure.title)}"></div>{below}</figure>'
    )


def _rest(tables: Iterable[Table], prefix: str, figures: Figures) -> str:
    """The tables that stand under no figure."""
    under = {figure.table for figure in figures.study()}
    left = [t for t in tables if t.name.startswith(prefix) and t.name not in under]
    return "".join(
        f"<details open><summary>{escape(t.title)}</summary>{of_study(t)}</details>" for t in left
    )


def _of_machine(table: Table, machine: str, found: Analysis) -> bool:
    return table.name.startswith(f"{machine}.") and not any(
        table.name.startswith(f"{part.name}.") for part in found.parts
    )


def _programs(known: Sequence[_Known], programs: Sequence[str]) -> str:
    parts = []
    for each in known:
        effect, words = each.part.effect, each.standings["max"].word
        rows = []
        for name in effect.sort_values("rdev_max", ascending=False).index:
            line = effect.loc[name]
            mark = "yes" if line.sensitive else "undecided" if line.undecided else "no"
            best = program_page.by_mean(each.standings["max"], name, BEST)
            ran = int(words.loc[name].notna().sum())
            use = (
                "any"
                if len(best) == ran
                else ", ".join(best[:6]) + (f" and {len(best) - 6} more" if len(best) > 6 else "")
            )
            cells = [
                (name, name),
                (mark, mark),
                number(float(line.gain_max), f"{1 + line.gain_max:.2f}"),
                number(float(line.rdev_max), f"{100 * line.rdev_max:.0f}"),
                (use or "-", use),
            ]
            rows.append(row(cells, link=links.where(PROGRAM, name)))
        columns = [
            "program",
            "lock matters",
            "best / worst at max",
            "R.Dev at max, %",
            "use at max",
        ]
        parts.append(f"<h3>{escape(each.part.sample.title)}</h3>{grid(columns, rows)}")
    listed = links.programs(programs)
    return (
        f"<h2>Programs</h2><p>A page for each: {listed}.</p>"
        '<p class="quiet">Best / worst: of the means of all locks. Use: the locks that no other is'
        " better than, the highest mean first.</p>" + "".join(parts)
    )


def _program(known: Sequence[_Known], name: str, figures: Figures, drawn: dict[str, Figure]) -> str:
    blocks = []
    for each in known:
        if name not in each.part.whole.applications:
            continue
        part = each.part
        blocks.append(
            f"<h3>{escape(part.sample.title)}</h3>"
            + program_page.advice(part, name, each.standings, each.spreads)
            + _figure(figures.of_program[part.name, name], None, drawn)
            + "<details><summary>All locks in a table</summary>"
            + program_page.table(part, name, each.standings, each.spreads)
            + "</details>"
        )
    blocks += [_figure(figure, None, drawn) for figure in figures.latency_of(name)]
    return (
        f'<p class="quiet"><a href="#programs">All programs</a></p><h2>{escape(name)}</h2>'
        + "".join(blocks)
    )


def _locks(known: Sequence[_Known], locks: Sequence[str], tables: dict[str, Table]) -> str:
    ranked = [tables[f"{e.part.name}.locks"] for e in known if f"{e.part.name}.locks" in tables]
    return f"<h2>Locks</h2><p>A page for each: {links.locks(locks)}.</p>" + "".join(
        f"<h3>{escape(table.title)}</h3>{of_study(table)}" for table in ranked
    )


def _lock(known: Sequence[_Known], name: str, drawn: dict[str, Figure]) -> str:
    blocks = []
    for each in known:
        part = each.part
        if name not in part.whole.locks:
            continue
        figure = lock_page.figure(part, name, each.standings)
        blocks.append(
            f"<h3>{escape(part.sample.title)}</h3>"
            + lock_page.summary(part, name, each.standings)
            + (_figure(figure, None, drawn) if figure else "")
            + "<details><summary>All programs in a table</summary>"
            + lock_page.table(part, name, each.standings)
            + "</details>"
        )
    return (
        f'<p class="quiet"><a href="#locks">All locks</a></p><h2>{escape(name)}</h2>'
        + lock_page.about(name)
        + "".join(blocks)
    )
