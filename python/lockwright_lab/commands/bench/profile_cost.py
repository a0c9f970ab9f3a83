"""`lockwright bench profile-cost`: the costs of profiling a program's mutexes and of --metrics."""

from pathlib import Path

import click
from lockwright.base import interrupts
from lockwright.calibrate.report import Column, definitions
from lockwright.commands.common import grammar

from lockwright_lab.bench import profile_cost
from lockwright_lab.bench.output import show
from lockwright_lab.commands.bench.report_setup import (
    BEFORE_AND_AFTER,
    finish,
    new_report,
    pinned_busy_work,
)


def _help() -> str:
    about = [Column(each.name, f"{each.meaning}.") for each in profile_cost.SETTINGS]
    return "\n\n".join(
        [
            "Measure workloads with and without 'lockwright profile', and under the default lock "
            "with and without 'run --metrics', the two runs of a round one after the other.",
            definitions(about, "Settings:"),
            definitions(profile_cost.COLUMNS),
        ]
    )


@click.command("profile-cost", help=_help())
@grammar.runs(30, of="each setting with and without it", note="Fewer than six have no interval.")
@grammar.seconds(0.3)
@grammar.json_file("every run and every figure")
def command(runs: int, seconds: float, json_file: Path | None) -> None:
    """Measure, and print the table."""
    report = new_report("profile-cost", profile_cost.COLUMNS, {"runs": runs, "seconds": seconds})
    options = pinned_busy_work()
    results: dict[tuple[str, str], profile_cost.Results] = {}
    limit = seconds + BEFORE_AND_AFTER
    stopped = interrupts.until_stopped(
        lambda: profile_cost.measure(report, runs, seconds, options, limit, results)
    )
    show(
        report,
        profile_cost.tables(report, results),
        profile_cost.remarks(results),
        json_file,
    )
    finish(report, stopped)
