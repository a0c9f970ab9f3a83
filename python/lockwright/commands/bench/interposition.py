"""`lockwright bench interposition`: locks compiled into a program against the same locks
preloaded."""

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
from lockwright.commands.bench.report_setup import BEFORE_AND_AFTER, finish, new_report
from lockwright.commands.common import grammar
from lockwright.machine import pinning
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC, loops_per_us, subjects
from lockwright.study import schema


def _help() -> str:
    about = [Column(each.name, f"{each.meaning}.") for each in interposition.SETTINGS.values()]
    return "\n\n".join(
        [
            "Compare each lock compiled into a workload with the same lock preloaded under it.",
            "The workload is the same source in both forms, and the two runs of a pair follow one "
            "another. For each lock a test of equivalence shows whether the forms differ by less "
            "than 5 %; for all together, it prints the mean difference, and whether any two "
            "locks change their order.",
            _under("Settings:", about),
            definitions(interposition.COLUMNS),
            _under("Of all locks together:", interposition.SUMMARY),
        ]
    )


def _under(heading: str, terms: Sequence[Column]) -> str:
    """Return definitions like those of columns, under another heading."""
    _, _, listed = definitions(terms).split("\n", 2)
    return f"\b\n{heading}\n{listed}"


def _settings(text: str | None) -> list[str]:
    if text is None:
        return [name for name, each in interposition.SETTINGS.items() if each.usual]
    chosen = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for word in chosen or [text]:
        if word not in interposition.SETTINGS:
            raise LockwrightError(
                f"invalid value '{word}' for --settings",
                f"choose from {', '.join(interposition.SETTINGS)}",
            )
    return chosen


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
    names = _settings(settings)
    chosen = [subject for subject in subjects(locks, None) if subject.name != LIBC]
    for name in [subject.name for subject in chosen if subject.name not in registry().names] or (
        [] if chosen else [str(locks)]
    ):
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
    given: dict[str, object] = {
        "seconds": seconds,
        "warm-up": warm_up,
        "loops-per-us": loops_per_us(),
        # The placement of threads by the scheduler would differ more than the two forms.
        "pin": pinning.processor_lists("core", pinning.usable_processors()),
    }
    wanted = [interposition.SETTINGS[name] for name in names]
    results = interposition.empty_table()
    stopped = interrupts.until_stopped(
        lambda: interposition.measure(report, chosen, wanted, runs, given, limit, results)
    )
    shown = interposition.tables(report, chosen, wanted, results)
    show(report, shown, interposition.remarks(wanted), json_file)
    if csv_file is not None:
        files.write(csv_file, _runs(report.runs), "--csv")
        terminal.output().print(f"Written: {csv_file}", markup=False)
    finish(report, stopped)


def _runs(runs: Sequence[dict[str, object]]) -> str:
    """Return one line per run, in the format of a study: the form is the variant."""
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
