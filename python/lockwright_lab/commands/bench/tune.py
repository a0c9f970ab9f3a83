"""`lockwright bench tune`: the lock that tune finds, compared with the best of all locks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from lockwright.base import interrupts, numbers, terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import (
    Report,
    definitions,
    empty_table,
    processors,
    watching_others,
)
from lockwright.commands.common import grammar

from lockwright_lab.bench import tuning
from lockwright_lab.bench.alternation import PairRatio
from lockwright_lab.bench.output import show
from lockwright_lab.bench.tuning import ProgramResults, Settings, Tuned
from lockwright_lab.commands.bench.report_setup import new_report
from lockwright_lab.commands.common import complete

if TYPE_CHECKING:
    from lockwright_lab.study.program.entry import Program

_SENSITIVE = "rocksdb-readrandom,perl-queue,node-pool,ruby-queue"
_INSENSITIVE = "xz,pbzip2,pigz"
_CROWD = 4
"""Threads for each processor for programs in which locks should matter."""


def _help() -> str:
    return "\n\n".join(
        [
            "Test whether 'lockwright tune' finds the same lock as comparing all locks, and how "
            "much sooner.",
            "Each program of the catalogue is first compared under all locks, then tuned; then the"
            " two locks found run alternately. A program takes about seven minutes.",
            "Programs that are not lock-sensitive are only tuned, with one thread for each"
            " processor: tune should report that within a minute.",
            definitions(tuning.AGAINST, "Columns:"),
            definitions(tuning.ALONE, "Columns of the second table:"),
        ]
    )


@click.command("tune", help=_help())
@click.option(
    "--programs",
    default=_SENSITIVE,
    show_default=True,
    metavar="A,B,...",
    shell_complete=complete.programs,
    help="Programs of 'lockwright study catalogue' that are one command.",
)
@click.option(
    "--insensitive",
    default=_INSENSITIVE,
    show_default=True,
    metavar="A,B,...",
    shell_complete=complete.programs,
    help="Further programs, which are only tuned.",
)
@grammar.integer(
    "--threads",
    None,
    f"Threads of a program that is compared.  [default: {_CROWD} for each processor]",
)
@grammar.seconds(
    0.6,
    least=0.01,
    note="The work is chosen by the time that the catalogue states, and is never increased.",
)
@grammar.runs(3, note="Runs of compare.")
@grammar.timeout(3.0)
@click.option(
    "--budget",
    metavar="TIME",
    help="Time for tune.  [default: a fifth of compare's; tune's default for programs only tuned]",
)
@grammar.integer(
    "--pairs",
    200,
    "Run the two locks alternately at most N times; it ends once it is shown whether they are"
    " within 5 %.",
    least=3,
)
@grammar.json_file("every figure, after each program,")
def command(
    programs: str,
    insensitive: str,
    threads: int | None,
    seconds: float,
    runs: int,
    timeout: float,
    budget: str | None,
    pairs: int,
    json_file: Path | None,
) -> None:
    """Measure, and print the tables."""
    from lockwright.tune import budget as budgets

    from lockwright_lab.study.program import catalogue

    compared, alone = (
        [catalogue.find(word.strip()) for word in text.split(",") if word.strip()]
        for text in (programs, insensitive)
    )
    if not (compared or alone):
        raise LockwrightError("no program is named", "give --programs names with commas")
    if budget is not None:
        budgets.parse_seconds(budget)
    settings = Settings(threads or _CROWD * processors(), seconds, runs, timeout, budget, pairs)
    report = new_report(
        "tune",
        tuning.AGAINST,
        vars(settings) | {"programs": programs, "insensitive": insensitive},
    )
    stopped = None
    try:
        with interrupts.stop_on_signals(), watching_others(report):
            for program in compared:
                _measure_program(report, program, settings, json_file, sensitive=True)
            for program in alone:
                _measure_program(report, program, settings, json_file, sensitive=False)
    except interrupts.Stopped as signal:
        stopped = signal
    _show(report, json_file)
    if stopped is not None:
        click.get_current_context().exit(stopped.status)


def _measure_program(
    report: Report, program: "Program", settings: Settings, file: Path | None, sensitive: bool
) -> None:
    """Measure a program; one that fails is reported and left out."""
    from lockwright_lab.bench.real_program import real_program
    from lockwright_lab.commands.common.folders import folders

    console = terminal.errors()
    console.print(f"lockwright: {program.name}", markup=False)
    threads = settings.threads if sensitive else processors()
    scale = min(1.0, settings.seconds / program.seconds) if program.seconds else 1.0
    try:
        with real_program(program, threads, scale, folders(None, None)) as subject:
            measure = tuning.measure if sensitive else tuning.tune
            results: ProgramResults | Tuned = measure(subject, settings)
    except LockwrightError as error:
        report.failures.append(f"{program.name}: {error.what}")
        console.print(f"lockwright: {report.failures[-1]}", markup=False)
        return
    row: dict[str, object] = {"program": program.name, "threads": threads, "scale": scale}
    row |= _against(results) if isinstance(results, ProgramResults) else _alone(results)
    report.rows.append(row)
    console.print(", ".join(f"{k} {v}" for k, v in row.items() if isinstance(v, str)), markup=False)
    if file is not None:
        report.write(file)


def _show(report: Report, file: Path | None) -> None:
    tables = []
    for title, columns in (
        ("tune against all locks", tuning.AGAINST),
        ("tune of programs that are not lock-sensitive", tuning.ALONE),
    ):
        rows = [row for row in report.rows if columns[-1].heading in row]
        if rows:
            tables.append(empty_table(title, columns))
        for row in rows:
            tables[-1].add_row(*(str(row[column.heading]) for column in columns))
    show(report, tables, [f"{row['program']}: {row['sentence']}" for row in report.rows], file)


def _against(results: ProgramResults) -> dict[str, object]:
    compared, tuned = results.compared, results.tuned
    return {
        "compare": f"{compared.seconds:.0f} s",
        "best of all": compared.best,
        "gain": "-" if compared.gain is None else numbers.ratio(compared.gain),
        "worst": "-" if compared.worst is None else numbers.ratio(compared.worst),
        "tune": f"{tuned.seconds:.0f} s, {numbers.percent(results.share)}",
        "its pick": tuned.pick,
        "pick to best": _ratio_text(results.against),
        "within 5 %": results.against.within,
        "sentence": tuned.sentence,
        "figures": results,
    }


def _ratio_text(ratio: PairRatio) -> str:
    if not ratio.pairs:
        return "the same"
    low, high = numbers.ratio(ratio.low), numbers.ratio(ratio.high)
    return f"{numbers.ratio(ratio.ratio)} ({low} to {high}, {ratio.pairs} pairs)"


def _alone(tuned: Tuned) -> dict[str, object]:
    return {
        "tune": f"{tuned.seconds:.0f} s",
        "says so": "yes" if tuned.in_time else "no",
        "bound": "-" if tuned.bound is None else numbers.percent(tuned.bound - 1, 1),
        "sentence": tuned.sentence,
        "figures": tuned,
    }
