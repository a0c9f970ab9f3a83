"""`lockwright study report`: a study as pages, tables and figures."""

from pathlib import Path

import click
from lockwright.commands.common import brief

from lockwright_lab.commands.common.grammar import output_to_folder
from lockwright_lab.commands.study import data as study_data


@brief.command("report")
@study_data.data_options
@output_to_folder("everything", required=True)
@click.option("--title", metavar="TEXT", help="Title of the report.  [default: names of the data]")
@click.option(
    "--figures",
    "kind",
    type=click.Choice(["pdf", "svg", "none"]),
    default="pdf",
    show_default=True,
    help="Format of the figures for a paper, drawn by matplotlib.",
)
def command(what: study_data.AnalysisOptions, output: Path, title: str | None, kind: str) -> None:
    """Write a report of a study: pages, tables and figures.

    DATA are what `lockwright study analyse` takes. DIR gets report.html, one file with every table
    and plot and a page for each program and each lock; analysis.json; and the directories csv,
    latex and figures, with a file for each table and plot.

    Example: lockwright study report runs.csv --output-dir report
    """
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.report.write import ReportOptions, write

    if output.exists() and not output.is_dir():
        raise LockwrightError(
            f"--output-dir {output} is not a directory", "name a directory, or a new one"
        )
    data, found = study_data.read_and_analyse(what)
    for line in write(data, found, ReportOptions(output, what.data, title, kind, what.relative_to)):
        click.echo(line)
