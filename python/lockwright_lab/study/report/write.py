"""The files of a study's report: page, tables, figures."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lockwright.base import files
from lockwright.preload.locks import BASELINE

from lockwright_lab.study import output
from lockwright_lab.study.analysis import Analysis
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.report import html, vector
from lockwright_lab.study.report.all_figures import figures


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report. folder: of its files; data: files that were read; kind: of the
    figures for a paper, pdf, svg or none; baseline: lock of latency ratios."""

    folder: Path
    data: tuple[Path, ...]
    title: str | None = None
    kind: str = "pdf"
    baseline: str = BASELINE


def write(data: DataSet, analysis: Analysis, options: ReportOptions) -> Iterator[str]:
    """Write the report; yield a message for each part once it is written. Raises LockwrightError if
    that fails."""
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    names = [str(path) for path in options.data]
    title = options.title or f"Locks under {', '.join(source.name for source in data.sources)}"
    drawn = figures(data, analysis, options.baseline)
    page = folder / "report.html"
    files.write(page, html.render(data, analysis, drawn, title, names), "--output-dir")
    yield f"wrote {page}"
    output.write(analysis, options.data, folder / "analysis.json", folder / "csv", folder / "latex")
    yield f"wrote {len(analysis.tables)} tables: {folder / 'analysis.json'}, and in csv and latex"
    if options.kind == "none":
        return
    if not vector.available():
        yield (
            "no figures for a paper: matplotlib is not installed; "
            "pip install 'lockwright-lab[figures]'"
        )
        return
    place = folder / "figures"
    vector.write(drawn.study, place, options.kind)
    vector.write(drawn.programs, place / "programs", options.kind)
    yield f"wrote {len(drawn.study) + len(drawn.programs)} figures in {place}"
