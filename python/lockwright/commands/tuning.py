"""`lockwright bench tune`: is what tune finds as good as the best of all locks?"""

from pathlib import Path

import click

from lockwright import interrupts, terminal
from lockwright.bench import tuning
from lockwright.bench.report import definitions, show, table, watching_others
from lockwright.bench.tuning import Found, Settings
from lockwright.commands.options import check_writable
from lockwright.commands.reporting import new_report
from lockwright.compare import figures
from lockwright.errors import LockwrightError

_PROGRAMS = "kyoto-cache,perl-queue,ruby-queue,xz,pigz,zstd"


def _help() -> str:
    return "\n\n".join(
        [
            "Whether 'lockwright tune' finds what comparing all locks finds, and how much sooner.",
            "Each program of the catalogue is first compared under all locks, then tuned; then the"
            " two locks that this found are run in turn. It takes minutes for each program.",
            definitions(tuning.COLUMNS, "Columns:"),
        ]
    )


@click.command("tune", help=_help())
@click.option(
    "--programs",
    default=_PROGRAMS,
    show_default=True,
    metavar="A,B,...",
    help="Programs of 'lockwright study catalogue' that are one command.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=8, show_default=True, help="Of each program."
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.001, max=1000),
    default=1.0,
    show_default=True,
    help="Amount of work of a run.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Of each lock, of compare.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds a run may take.",
)
@click.option("--budget", default="5m", show_default=True, help="Of tune.")
@click.option(
    "--pairs",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Rounds in which the two locks are run in turn.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=check_writable,
    help="Also write every figure to this file.",
)
def command(
    programs: str,
    threads: int,
    scale: float,
    runs: int,
    timeout: float,
    budget: str,
    pairs: int,
    json_file: Path | None,
) -> None:
    """Measures, and prints the table."""
    from lockwright.commands.study_run import folders
    from lockwright.study.program import catalogue
    from lockwright.tune.budget import seconds

    names = list(dict.fromkeys(word.strip() for word in programs.split(",") if word.strip()))
    if not names:
        raise LockwrightError("--programs names no program", "give names with commas")
    seconds(budget)
    chosen = [catalogue.find(name) for name in names]
    settings = Settings(threads, scale, runs, timeout, budget, pairs)
    report = new_report("tune", tuning.COLUMNS, vars(settings) | {"programs": programs})
    stopped = None
    console = terminal.errors()
    try:
        with interrupts.heeded(), watching_others(report):
            for program in chosen:
                console.print(f"lockwright: {program.name}", markup=False)
                with tuning.task(program, settings, folders(None, None)) as one:
                    _keep(report.rows, tuning.measure(program, settings, one))
    except interrupts.Stopped as signal:
        stopped = signal
    shown = table("tune against all locks", tuning.COLUMNS)
    for row in report.rows:
        shown.add_row(*(str(row[column.heading]) for column in tuning.COLUMNS))
    show(
        report, [shown], [f"{row['program']}: {row['sentence']}" for row in report.rows], json_file
    )
    if stopped is not None:
        click.get_current_context().exit(stopped.status)


def _keep(rows: list[dict[str, object]], found: Found) -> None:
    against = "-"
    if found.pick == found.best:
        against = "the same"
    elif found.against is not None:
        against = f"{figures.ratio(found.against.value)} ({figures.interval(found.against)})"
    rows.append(
        {
            "program": found.program,
            "compare": f"{found.compare_seconds:.0f} s",
            "best of all": found.best,
            "gain": "-" if found.gain is None else figures.ratio(found.gain.value),
            "tune": f"{found.tune_seconds:.0f} s",
            "share": f"{found.share:.0%}",
            "its pick": found.pick,
            "pick to best": against,
            "sentence": found.sentence,
            "figures": found,
        }
    )
