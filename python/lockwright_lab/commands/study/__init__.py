"""`lockwright study`: studies of many programs under many locks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.groups import Group

from lockwright_lab.commands.common.grammar import output_to_folder
from lockwright_lab.commands.study import catalogue as study_catalogue
from lockwright_lab.commands.study import data as study_data
from lockwright_lab.commands.study import report as study_report
from lockwright_lab.commands.study.run import run, worker

if TYPE_CHECKING:
    from lockwright_lab.study.analysis import Analysis
    from lockwright_lab.study.result_table import Table


@click.group("study", cls=Group)
def command() -> None:
    """Run and analyse studies over many programs and locks."""


command.add_command(run)
command.add_command(study_catalogue.command)
command.add_command(study_report.command)
command.add_command(worker)


@command.command("analyse")
@study_data.data_options
@click.option("--show", "shown", metavar="NAME,...", help="Print these tables, or all.")
@grammar.json_file("all tables in full")
@click.option(
    "--csv-tables",
    "csv_folder",
    type=grammar.FILE,
    metavar="DIR",
    help="Also write each table as CSV into the directory DIR.",
)
@click.option(
    "--latex-tables",
    "latex_folder",
    type=grammar.FILE,
    metavar="DIR",
    help="Also write each table for LaTeX into the directory DIR.",
)
@output_to_folder("JSON, CSV and LaTeX")
def analyse(
    what: study_data.AnalysisOptions,
    shown: str | None,
    json_file: Path | None,
    csv_folder: Path | None,
    latex_folder: Path | None,
    output: Path | None,
) -> None:
    """Compute from runs how much locks matter, and which are best.

    DATA are CSV files with a line per run, or directories of them. Columns: application (or
    bench), lock (or strategy), threads or nodes, machine, run, and metrics: throughput, time,
    latency, tpp (operations per joule), power, energy, with a unit in brackets. Only
    application, lock and one metric are required.

    Example: lockwright study analyse --tolerance 5% --csv-tables tables runs.csv
    """
    from lockwright.base.terminal import output as console

    from lockwright_lab.study import output as files
    from lockwright_lab.study import terminal_tables

    _, found = study_data.read_and_analyse(what)
    tables = _chosen(found, shown)
    if output is not None:
        json_file = json_file or output / "analysis.json"
        csv_folder, latex_folder = csv_folder or output / "csv", latex_folder or output / "latex"
    files.write(found, what.data, json_file, csv_folder, latex_folder)
    terminal_tables.print_tables(console(), found, tables)


def _chosen(found: "Analysis", shown: str | None) -> "list[Table]":
    """Return the tables to print: those with the main results, or the named ones."""
    from lockwright.base.errors import LockwrightError

    if shown is None:
        return [table for table in found.tables if not table.aside]
    names = {name.strip() for name in shown.split(",")}
    if names == {"all"}:
        return list(found.tables)
    for name in names:
        if not any(_has_name(table, name) for table in found.tables):
            kinds = ", ".join(dict.fromkeys(t.name.rpartition(".")[2] for t in found.tables))
            raise LockwrightError(f"there is no table '{name}'", f"choose from {kinds}")
    return [table for table in found.tables if any(_has_name(table, name) for name in names)]


def _has_name(table: "Table", name: str) -> bool:
    """Return whether the table has that name, or a name with that last part."""
    return name in (table.name, table.name.rpartition(".")[2])
