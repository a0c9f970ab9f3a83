"""The report as one HTML file: an overview, and a page for each subject, program and lock.

All pages are in the file; the address behind # chooses one (page/page.js), and without scripts they
follow each other.
"""

from collections.abc import Sequence

from lockwright import version
from lockwright.page import templates
from lockwright.preload.locks import BASELINE

from lockwright_lab import PACKAGE
from lockwright_lab.study.analysis import Analysis
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.report import common_traits, links, lock_page, overview, program_page
from lockwright_lab.study.report.all_figures import Figures
from lockwright_lab.study.report.verdicts import MetricView


def render(
    data: DataSet, analysis: Analysis, figures: Figures, title: str, files: Sequence[str]
) -> str:
    """Return the HTML of the report. title: plain text; files: names of the data files."""
    views = [MetricView(part) for part in analysis.parts]
    locks = sorted({name for part in analysis.parts for name in part.cells.locks})
    lock_figures = {
        (view.part.name, lock): figure
        for view in views
        for lock in view.part.cells.locks
        if (figure := lock_page.figure(view, lock)) is not None
    }
    under_figures = {figure.table for figure in figures.study}
    other = [table for table in analysis.tables if table.name not in under_figures]
    of_part = {
        p.name: [t for t in other if t.name.startswith(f"{p.name}.")] for p in analysis.parts
    }
    drawn = [*figures.study, *figures.programs, *lock_figures.values()]
    return templates.fill(
        "study/report/page/page.html",
        {
            "locks": locks,
            "baseline": BASELINE,
            "figures": {figure.name: figure.plot for figure in drawn},
        },
        root=PACKAGE,
        title=title,
        version=version(),
        files=files,
        analysis=analysis,
        figures=figures,
        lock_figures=lock_figures,
        views=views,
        programs=sorted({name for part in analysis.parts for name in part.cells.applications}),
        locks=locks,
        known_locks=common_traits.installed_locks(),
        missing=overview.missing(data, analysis.parts),
        tables={table.name: table for table in analysis.tables},
        tables_of_part=of_part,
        tables_of_machine={
            machine: [
                table
                for table in other
                if table.name.startswith(f"{machine}.")
                and not any(table in group for group in of_part.values())
            ]
            for machine in figures.of_machine
        },
        links=links,
        overview=overview,
        program_page=program_page,
        lock_page=lock_page,
    )
