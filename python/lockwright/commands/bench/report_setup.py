"""The report of a measurement, created from the options of the command, and its exit status."""

from collections.abc import Sequence

import click

from lockwright.base.interrupts import Stopped
from lockwright.bench.report import Column, Report
from lockwright.commands.common.options import stored_value
from lockwright.doctor import examine
from lockwright.machine.meters import Meters

BEFORE_AND_AFTER = 20.0
"""Seconds that a run may take in addition to its warm-up and its measurement before it is
killed."""


def new_report(workload: str, columns: Sequence[Column], settings: dict[str, object]) -> Report:
    """Return an empty report, with the command that repeats the measurement, every option
    included."""
    command = ["lockwright", "bench", workload]
    for name, value in settings.items():
        if value is True:
            command.append(f"--{name}")
        elif value is not None and value is not False:
            command += [f"--{name}", f"{value:g}" if isinstance(value, float) else str(value)]
    for name in ("energy", "counters"):
        if stored_value(name):
            command.append(f"--{name}")
    for word in stored_value("preload") or ():
        command += ["--preload", word]
    report = Report(workload, command, settings, columns)
    report.findings = examine.examine_this_machine()
    report.meters = Meters(
        energy=bool(stored_value("energy")), counters=bool(stored_value("counters"))
    )
    return report


def finish(report: Report, stopped: Stopped | None = None) -> None:
    """End the command with the status of the signal that stopped it, or 1 if a run failed."""
    context = click.get_current_context()
    if stopped is not None:
        click.echo("lockwright: stopped; the figures are of the completed rounds", err=True)
        context.exit(stopped.status)
    if report.failures:
        context.exit(1)
