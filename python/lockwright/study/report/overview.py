"""The first page of a report: the answers, and what they rest on."""

from collections.abc import Iterable, Sequence
from html import escape

from lockwright import version
from lockwright.page.table import grid, number, row
from lockwright.study.analysis import Analysis
from lockwright.study.dataset import DataSet
from lockwright.study.part import Part
from lockwright.study.report import lacking, links
from lockwright.study.report.tables import of_study


def page(data: DataSet, found: Analysis, files: Sequence[str]) -> str:
    """Answers, what the data hold and what they lack, as HTML. files: what was read."""
    cards = "".join(
        f'<a class="card" href="{links.where(links.STUDY, part.name)}">'
        f'<div class="where">{escape(part.sample.title)}</div>'
        f'<div class="best">{int(part.effect.sensitive.sum())} of {len(part.effect)}</div>'
        f'<div class="gain">programs to which the lock matters{_open(part)}</div></a>'
        for part in found.parts
    )
    questions = dict.fromkeys(answer.question for answer in found.answers)
    answers = "".join(
        f"<h3>{escape(question)}</h3><dl>"
        + "".join(
            f"<dt>{escape(each.about)}</dt><dd>{escape(each.text)}</dd>"
            for each in found.answers
            if each.question == question
        )
        + "</dl>"
        for question in questions
    )
    machines = [table for table in found.tables if table.name == "machines"]
    between = "".join(f"<h3>{escape(table.title)}</h3>{of_study(table)}" for table in machines)
    missing = "".join(
        f"<li>{escape(what)}: {escape(why)}.</li>"
        for what, why in lacking.lacking(data, found.parts)
    )
    rules = "".join(
        f"<li>{escape(about)}: {escape(meaning)}.</li>" for about, meaning in found.rules
    )
    notes = "".join(f"<li>{escape(note)}.</li>" for note in found.notes)
    return (
        f'<div class="cards">{cards}</div><h2>Answers</h2><div class="answers">{answers}</div>'
        f"{between}"
        f"<h2>What the data hold</h2>{_contents(found.parts)}"
        + (f"<h2>What these data cannot tell</h2><ul>{missing}</ul>" if missing else "")
        + f"<h2>What better means</h2><ul>{rules}</ul>"
        + (f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "")
        + f'<p class="quiet">Made by Lockwright {escape(version())} from'
        f" {escape(', '.join(files))}.</p>"
    )


def _open(part: Part) -> str:
    undecided = int(part.effect.undecided.sum())
    return f", and of {undecided} more the runs cannot tell" if undecided else ""


def _contents(parts: Iterable[Part]) -> str:
    columns = ["data", "programs", "locks", "counts", "runs", "runs of each, median"]
    rows = []
    for part in parts:
        frame = part.sample.frame
        counts = sorted(frame["count"].unique())
        each = float(frame.groupby(["application", "count", "lock"]).size().median())
        listed = (
            f"{', '.join(map(str, counts))} {part.sample.counted}" if part.sample.counted else "one"
        )
        rows.append(
            row(
                [
                    (part.sample.title, part.sample.title),
                    *(
                        number(float(n), f"{n:,}")
                        for n in (len(part.whole.applications), len(part.whole.locks))
                    ),
                    (listed, listed),
                    number(float(len(frame)), f"{len(frame):,}"),
                    number(each, f"{each:.0f}"),
                ],
                link=links.where(links.STUDY, part.name),
            )
        )
    return grid(columns, rows)
