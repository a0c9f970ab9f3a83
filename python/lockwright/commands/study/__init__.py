"""`lockwright study`: what the runs of many applications under many locks come to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.study import catalogue as study_catalogue
from lockwright.commands.study import data as study_data
from lockwright.commands.study import report as study_report
from lockwright.commands.study.run import run, worker

if TYPE_CHECKING:
    from lockwright.study.analysis import Analysis
    from lockwright.study.table import Table

_PATH = click.Path(path_type=Path)


@click.group("study")
def command() -> None:
    """Many applications under many locks: which lock suits which, and by how much."""


command.add_command(run)
command.add_command(study_catalogue.command)
command.add_command(study_report.command)
command.add_command(worker)


@command.command("analyse")
@study_data.chosen
@click.option("--show", "shown", metavar="NAME,...", help="Print these tables, or all.")
@click.option("--json", "json_file", type=_PATH, metavar="F", help="Write all tables in full.")
@click.option("--csv", "csv_folder", type=_PATH, metavar="DIR", help="Write each table as CSV.")
@click.option("--latex", "latex_folder", type=_PATH, metavar="DIR", help="Write each for LaTeX.")
@click.option("--output", type=_PATH, metavar="DIR", help="Write all three, into this directory.")
def analyse(
    what: study_data.Wanted,
    shown: str | None,
    json_file: Path | None,
    csv_folder: Path | None,
    latex_folder: Path | None,
    output: Path | None,
) -> None:
    """Find out from runs how much locks matter, and which are best.

    DATA are CSV files with a line per run, or directories of them. Columns: application (or
    bench), lock (or strategy), threads or nodes, machine, run, and metrics: throughput, time,
    latency, tpp (operations per joule), power, energy, a unit in brackets behind them. Only
    application, lock and one metric have to be there.

    Example: lockwright study analyse --tolerance 5% --csv tables runs.csv
    """
    from lockwright.base.terminal import output as console
    from lockwright.study import output as files
    from lockwright.study import screen

    _, found = study_data.analysed(what)
    tables = _chosen(found, shown)
    if output is not None:
        json_file = json_file or output / "analysis.json"
        csv_folder, latex_folder = csv_folder or output / "csv", latex_folder or output / "latex"
    files.write(found, what.data, json_file, csv_folder, latex_folder)
    screen.show(console(), found, tables)


def _chosen(found: "Analysis", shown: str | None) -> "list[Table]":
    """The tables to print: those with the main results, or those that are named."""
    from lockwright.base.errors import LockwrightError

    if shown is None:
        return [table for table in found.tables if not table.aside]
    names = {name.strip() for name in shown.split(",")}
    if names == {"all"}:
        return list(found.tables)
    for name in names:
        if not any(_is(table, name) for table in found.tables):
            kinds = ", ".join(dict.fromkeys(t.name.rpartition(".")[2] for t in found.tables))
            raise LockwrightError(f"there is no table '{name}'", f"choose from {kinds}")
    return [table for table in found.tables if any(_is(table, name) for name in names)]


def _is(table: "Table", name: str) -> bool:
    """Whether it is that table: by its whole name, or by what is behind the last point."""
    return name in (table.name, table.name.rpartition(".")[2])
