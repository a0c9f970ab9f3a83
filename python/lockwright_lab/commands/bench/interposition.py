"""`lockwright bench interposition`: locks compiled into a program, and the same locks preloaded."""

import platform
from collections.abc import Sequence
from pathlib import Path

import click
from lockwright.base import files, interrupts, terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import Column, definitions
from lockwright.commands.common import grammar
from lockwright.commands.common.options import name_list
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC, subjects

from lockwright_lab.bench import interposition
from lockwright_lab.bench.output import csv_text, show
from lockwright_lab.commands.bench.report_setup import (
    BEFORE_AND_AFTER,
    finish,
    new_report,
    pinned_busy_work,
)
from lockwright_lab.study import schema


def _help() -> str:
    about = [Column(each.name, f"{each.meaning}.") for each in interposition.SETTINGS.values()]
    return "\n\n".join(
        [
            "Compare each lock compiled into a workload with the same lock preloaded under it.",
            "The workload is the same source in both forms, and the two runs of a pair follow one "
            "another. For each lock a test of equivalence shows whether the forms differ by less "
            "than 5 %; for all locks, it prints the mean difference and the changes of order.",
            _under("Settings:", about),
            definitions(interposition.COLUMNS),
            _under("All locks together:", interposition.SUMMARY),
        ]
    )


def _under(heading: str, terms: Sequence[Column]) -> str:
    """Return definitions like those of columns, under another heading."""
    _, _, listed = definitions(terms).split("\n", 2)
    return f"\b\n{heading}\n{listed}"


@click.command("interposition", help=_help())
@grammar.locks("all")
@click.option(
    "--settings",
    metavar="A,B,...",
    help="Settings, separated by commas; see above.  [default: all but over-subscribed]",
)
@grammar.runs(10, of="each lock and form in each setting", note="Fewer than five have no interval.")
@grammar.seconds(0.2)
@grammar.warm_up(0.05)
@grammar.timeout(None, default_text=f"time of a run + {BEFORE_AND_AFTER:g}")
@grammar.json_file("every run and every figure")
@grammar.csv_file("a line for each run, which 'lockwright study analyse --show all' reads,")
def command(
    locks: str | None,
    settings: str | None,
    runs: int,
    seconds: float,
    warm_up: float,
    timeout: float | None,
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Measure, and print the tables."""
    known = interposition.SETTINGS
    if settings is None:
        wanted = [each for each in known.values() if each.usual]
    else:
        wanted = [known[name] for name in name_list(settings, "--settings", known)]
    chosen = [subject for subject in subjects(locks, None) if subject.name != LIBC]
    unknown = [subject.name for subject in chosen if subject.name not in registry().names]
    if unknown or not chosen:
        name = unknown[0] if unknown else locks
        raise LockwrightError(
            f"'{name}' cannot be measured in two forms", "give locks that 'lockwright list' shows"
        )
    limit = timeout or seconds + warm_up + BEFORE_AND_AFTER
    report = new_report(
        "interposition",
        [*interposition.COLUMNS, *interposition.SUMMARY],
        {
            "locks": locks,
            "settings": settings,
            "runs": runs,
            "seconds": seconds,
            "warm-up": warm_up,
            "timeout": timeout,
        },
    )
    options = {"seconds": seconds, "warm-up": warm_up, **pinned_busy_work()}
    results = interposition.new_results()
    stopped = interrupts.until_stopped(
        lambda: interposition.measure(report, chosen, wanted, runs, options, limit, results)
    )
    tables = interposition.tables(report, chosen, wanted, results)
    show(report, tables, interposition.remarks(wanted), json_file)
    if csv_file is not None:
        files.write(csv_file, _runs(report.runs), "--csv")
        terminal.output().print(f"Written: {csv_file}", markup=False)
    finish(report, stopped)


def _runs(runs: Sequence[dict[str, object]]) -> str:
    """Return one line per run, in the format of a study: the form is the variant."""
    rows = []
    for run in runs:
        lines = run["lines"]
        assert isinstance(lines, list)
        measured = next((line for line in lines if line["kind"] == "measured"), None)
        rate = None if measured is None else measured["operations_per_second"]
        outcome = run["failure"] or ("finished" if rate else "nothing done")
        is_direct = run["form"] == interposition.DIRECT
        row = {
            "machine": platform.node() or "machine",
            "application": run["setting"],
            "lock": run["lock"],
            "variant": schema.MANUAL if is_direct else schema.INTERPOSED,
            "round": run["round"],
            "outcome": outcome,
            "throughput": rate,
        }
        rows.append(row)
    return csv_text(rows)
