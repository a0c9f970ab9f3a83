"""`lockwright bench interposition`: locks written into a program against the same put under it."""

import csv
import io
import platform
from collections.abc import Sequence
from pathlib import Path

import click

from lockwright.base import files, interrupts, terminal
from lockwright.base.errors import LockwrightError
from lockwright.bench import interposition
from lockwright.bench.output import show
from lockwright.bench.report import Column, definitions
from lockwright.commands.bench.reporting import new_report
from lockwright.machine import pinning
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC, loops_per_us, subjects
from lockwright.study import schema

_BEFORE_AND_AFTER = 20.0
"""Seconds that a run may take beside its warm-up and its measurement before it is killed."""


def _help() -> str:
    about = [Column(each.name, f"{each.meaning}.") for each in interposition.SETTINGS.values()]
    return "\n\n".join(
        [
            "Each lock compiled into a workload against the same lock put under it by its library.",
            "The workload is the same source in both forms, and the two runs of a pair follow one "
            "another. For each lock a test of equivalence says whether the forms differ by less "
            "than 5 %; for all together, by how much they differ in the mean, and whether any two "
            "locks change places.",
            _under("Settings:", about),
            definitions(interposition.COLUMNS),
            _under("Of all locks together:", interposition.SUMMARY),
        ]
    )


def _under(heading: str, terms: Sequence[Column]) -> str:
    """Definitions as those of columns are, under another heading."""
    _, _, listed = definitions(terms).split("\n", 2)
    return f"\b\n{heading}\n{listed}"


def _settings(text: str | None) -> list[str]:
    if text is None:
        return [name for name, each in interposition.SETTINGS.items() if each.usual]
    chosen = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in chosen or [text]:
        if word not in interposition.SETTINGS:
            raise LockwrightError(
                f"'{word}' is no setting of --settings",
                f"give some of {', '.join(interposition.SETTINGS)}",
            )
    return chosen


@click.command("interposition", help=_help())
@click.option("--locks", help="Locks, separated by commas, or 'all'.  [default: all]")
@click.option(
    "--settings",
    help="Settings, separated by commas; see above.  [default: all but over-subscribed]",
    metavar="NAMES",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Pairs of runs of each lock in each setting. Fewer than five show nothing.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.001),
    default=0.2,
    show_default=True,
    help="How long a run measures.",
)
@click.option(
    "--warm-up",
    type=click.FloatRange(min=0),
    default=0.05,
    show_default=True,
    help="How long it runs before that, in seconds.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    show_default=f"time of a run + {_BEFORE_AND_AFTER:g}",
    help="Seconds after which one run is killed, with all it started.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write every run and every figure to this file.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a line for each run to this file, which 'lockwright study analyse --show all' "
    "reads.",
)
def command(
    locks: str | None,
    settings: str | None,
    rounds: int,
    seconds: float,
    warm_up: float,
    timeout: float | None,
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Measures, and prints the tables."""
    names = _settings(settings)
    chosen = [one for one in subjects(locks, None) if one.name != LIBC]
    for name in [one.name for one in chosen if one.name not in registry().names] or (
        [] if chosen else [str(locks)]
    ):
        raise LockwrightError(
            f"'{name}' cannot be measured in two forms", "give locks that 'lockwright list' shows"
        )
    limit = timeout or seconds + warm_up + _BEFORE_AND_AFTER
    written = {"--json": json_file, "--csv": csv_file}
    files.try_out_all({option: path for option, path in written.items() if path is not None})
    report = new_report(
        "interposition",
        [*interposition.COLUMNS, *interposition.SUMMARY],
        {
            "locks": locks,
            "settings": settings,
            "rounds": rounds,
            "seconds": seconds,
            "warm-up": warm_up,
            "timeout": timeout,
        },
    )
    given: dict[str, object] = {
        "seconds": seconds,
        "warm-up": warm_up,
        "loops-per-us": loops_per_us(),
        # Where the scheduler puts two threads differs from run to run by more than the forms do.
        "pin": pinning.places("core", pinning.machine()),
    }
    wanted = [interposition.SETTINGS[name] for name in names]
    seen, stopped = interposition.nothing_yet(), None
    try:
        with interrupts.heeded():
            interposition.measure(report, chosen, wanted, rounds, given, limit, seen)
    except interrupts.Stopped as signal:
        stopped = signal
    shown = interposition.tables(report, chosen, wanted, seen)
    show(report, shown, interposition.remarks(wanted), json_file)
    if csv_file is not None:
        files.write(csv_file, _runs(report.runs), "--csv")
        terminal.output().print(f"Written: {csv_file}", markup=False)
    if stopped is not None:
        click.echo("lockwright: stopped; the figures are of the rounds made by then", err=True)
        click.get_current_context().exit(stopped.status)
    if report.failures:
        click.get_current_context().exit(1)


def _runs(runs: Sequence[dict[str, object]]) -> str:
    """One line per run, as a study has them: the form is the variant."""
    host = platform.node() or "machine"
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["machine", "application", "lock", "variant", "round", "outcome", "throughput"])
    for run in runs:
        lines = run["lines"]
        assert isinstance(lines, list)
        measured = next((line for line in lines if line["kind"] == "measured"), None)
        rate = None if measured is None else measured["operations_per_second"]
        outcome = run["failure"] or ("finished" if rate else "nothing done")
        variant = schema.MANUAL if run["form"] == interposition.DIRECT else schema.INTERPOSED
        writer.writerow([host, run["setting"], run["lock"], variant, run["round"], outcome, rate])
    return text.getvalue()
