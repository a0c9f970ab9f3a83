"""`lockwright bench profile-cost`: what looking at a program's mutexes costs it."""

from pathlib import Path

import click

from lockwright.base import interrupts
from lockwright.bench import profile_cost
from lockwright.bench.output import show
from lockwright.bench.report import Column, definitions
from lockwright.commands.bench.reporting import new_report
from lockwright.commands.common import grammar
from lockwright.machine import pinning
from lockwright.run.bench_program import loops_per_us

_BEFORE_AND_AFTER = 20.0
"""Seconds that a run may take beside what it measures before it is killed."""


def _help() -> str:
    about = [Column(each.name, f"{each.meaning}.") for each in profile_cost.SETTINGS]
    return "\n\n".join(
        [
            "Measure workloads with and without 'lockwright profile', the two runs of a round one "
            "after the other.",
            definitions(about, "Settings:"),
            definitions(profile_cost.COLUMNS),
        ]
    )


@click.command("profile-cost", help=_help())
@grammar.runs(30, of="each setting with and without it", note="Fewer than six have no interval.")
@grammar.seconds(0.3)
@grammar.json_file("every run and every figure")
def command(runs: int, seconds: float, json_file: Path | None) -> None:
    """Measures, and prints the table."""
    report = new_report("profile-cost", profile_cost.COLUMNS, {"runs": runs, "seconds": seconds})
    given: dict[str, object] = {
        "loops-per-us": loops_per_us(),
        # Where the scheduler puts threads differs from run to run by more than the forms do.
        "pin": pinning.processor_lists("core", pinning.usable_processors()),
    }
    seen: dict[str, profile_cost.Seen] = {}
    stopped = None
    try:
        with interrupts.stop_on_signals():
            profile_cost.measure(report, runs, seconds, given, seconds + _BEFORE_AND_AFTER, seen)
    except interrupts.Stopped as signal:
        stopped = signal
    show(report, profile_cost.tables(report, seen), [], json_file)
    if stopped is not None:
        click.echo("lockwright: stopped; the figures are of the rounds made by then", err=True)
        click.get_current_context().exit(stopped.status)
    if report.failures:
        click.get_current_context().exit(1)
