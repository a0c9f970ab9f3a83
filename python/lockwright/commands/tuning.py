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

_SENSITIVE = "perl-queue,ruby-queue,aomenc"
_INSENSITIVE = "xz,bowtie2,pbzip2"


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
    default=_SENSITIVE,
    show_default=True,
    metavar="A,B,...",
    help="Programs of 'lockwright study catalogue' that are one command.",
)
@click.option(
    "--insensitive",
    default=_INSENSITIVE,
    show_default=True,
    metavar="A,B,...",
    help="More of them, which are only tuned: it should soon say that there is nothing to gain.",
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
@click.option("--budget", metavar="TIME", help="Of tune.  [default: as it has by itself]")
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
    insensitive: str,
    threads: int,
    scale: float,
    runs: int,
    timeout: float,
    budget: str | None,
    pairs: int,
    json_file: Path | None,
) -> None:
    """Measures, and prints the table."""
    from lockwright.commands.study_run import folders
    from lockwright.study.program import catalogue
    from lockwright.tune.budget import seconds

    compared, tuned = (
        [catalogue.find(word.strip()) for word in text.split(",") if word.strip()]
        for text in (programs, insensitive)
    )
    if not (compared or tuned):
        raise LockwrightError("no program is named", "give --programs names with commas")
    if budget is not None:
        seconds(budget)
    settings = Settings(threads, scale, runs, timeout, budget, pairs)
    report = new_report(
        "tune",
        tuning.COLUMNS,
        vars(settings) | {"programs": programs, "insensitive": insensitive},
    )
    stopped = None
    console = terminal.errors()
    try:
        with interrupts.heeded(), watching_others(report):
            for program, how in [
                *((each, tuning.measure) for each in compared),
                *((each, tuning.tune) for each in tuned),
            ]:
                console.print(f"lockwright: {program.name}", markup=False)
                with tuning.task(program, settings, folders(None, None)) as one:
                    report.rows.append(_row(how(program, settings, one)))
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


def _row(found: Found) -> dict[str, object]:
    against = "-"
    if found.pick == found.best:
        against = "the same"
    elif found.against is not None:
        against = f"{figures.ratio(found.against.value)} ({figures.interval(found.against)})"
    return {
        "program": found.program,
        "compare": "-" if found.compare_seconds is None else f"{found.compare_seconds:.0f} s",
        "best of all": found.best or "-",
        "gain": "-" if found.gain is None else figures.ratio(found.gain.value),
        "tune": f"{found.tune_seconds:.0f} s",
        "share": "-" if found.share is None else f"{found.share:.0%}",
        "its pick": found.pick,
        "pick to best": against,
        "sentence": found.sentence,
        "figures": found,
    }
