"""`lockwright study`: what the runs of many applications under many locks come to."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.study_run import run

if TYPE_CHECKING:
    from lockwright.study.analysis import Analysis
    from lockwright.study.rules import Rule
    from lockwright.study.table import Table

_PATH = click.Path(path_type=Path)


@click.group("study")
def command() -> None:
    """Many applications under many locks: which lock suits which, and by how much."""


command.add_command(run)


@command.command("analyse")
@click.argument("data", nargs=-1, required=True, type=_PATH, metavar="DATA...")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="This metric; repeatable.")
@click.option(
    "--better",
    type=click.Choice(["higher", "lower"]),
    help="Which values of --metric are good, if it is none of the known ones.",
)
@click.option(
    "--tolerance",
    metavar="N%|ci",
    help="What makes a lock better: means more than N per cent apart (the published studies take"
    " 5%), or confidence intervals of the runs.  [default: ci, where runs are repeated]",
)
@click.option(
    "--counts",
    metavar="N,N,...",
    help="Counts of the tables of changes and of the best_lock ratio.",
)
@click.option("--baseline", default="pthread", show_default=True, help="Lock of latency ratios.")
@click.option("--show", "shown", metavar="NAME,...", help="Print these tables, or all.")
@click.option("--json", "json_file", type=_PATH, metavar="F", help="Write all tables in full.")
@click.option("--csv", "csv_folder", type=_PATH, metavar="DIR", help="Write each table as CSV.")
@click.option("--latex", "latex_folder", type=_PATH, metavar="DIR", help="Write each for LaTeX.")
@click.option("--output", type=_PATH, metavar="DIR", help="Write all three, into this directory.")
def analyse(
    data: tuple[Path, ...],
    metrics: tuple[str, ...],
    better: str | None,
    tolerance: str | None,
    counts: str | None,
    baseline: str,
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
    from lockwright.errors import LockwrightError
    from lockwright.study import names, reading, screen
    from lockwright.study.analysis import Choices
    from lockwright.study.analysis import analyse as analysed
    from lockwright.terminal import output as console

    if better and len(metrics) != 1:
        raise LockwrightError("--better is about one metric", "name it with --metric")
    rule = _rule(tolerance)
    chosen_counts = _counts(counts)
    read = reading.read(data, {metrics[0].lower(): better} if better else None)
    choices = Choices(
        tuple(metric.lower() for metric in metrics), rule, chosen_counts, names.of_project(baseline)
    )
    found = analysed(read, choices)
    tables = _chosen(found, shown)
    if output is not None:
        json_file = json_file or output / "analysis.json"
        csv_folder, latex_folder = csv_folder or output / "csv", latex_folder or output / "latex"
    _write(found, data, json_file, csv_folder, latex_folder)
    screen.show(console(), found, tables)


def _rule(tolerance: str | None) -> "Rule | None":
    from lockwright.errors import LockwrightError
    from lockwright.study.rules import Margin, Shown

    if tolerance is None:
        return None
    if tolerance.strip().lower() == "ci":
        return Shown()
    try:
        percent = float(tolerance.strip().rstrip("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 100:
        raise LockwrightError(
            f"--tolerance '{tolerance}' is neither a percentage nor ci", "write 5% or ci"
        )
    return Margin(percent / 100)


def _counts(text: str | None) -> tuple[int, ...]:
    from lockwright.errors import LockwrightError

    words = [word.strip() for word in text.split(",")] if text else []
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise LockwrightError(f"--counts '{text}' is no list of numbers", "write it as 1,2,4")
    return tuple(sorted({int(word) for word in words}))


def _chosen(found: "Analysis", shown: str | None) -> "list[Table]":
    """The tables to print: those with the main results, or those that are named."""
    from lockwright.errors import LockwrightError

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


def _write(
    found: "Analysis",
    data: tuple[Path, ...],
    json_file: Path | None,
    csv_folder: Path | None,
    latex_folder: Path | None,
) -> None:
    from lockwright.compare import files
    from lockwright.study import output

    if json_file is not None:
        json_file.absolute().parent.mkdir(parents=True, exist_ok=True)
        text = output.to_json(found, list(map(str, data)))
        files.write(json_file, text, "--json")
    for folder, ending, made in (
        (csv_folder, "csv", output.to_csv),
        (latex_folder, "tex", output.to_latex),
    ):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for table in found.tables:
                place = folder / f"{table.name.replace('/', '_')}.{ending}"
                files.write(place, made(table), f"--{'csv' if ending == 'csv' else 'latex'}")
