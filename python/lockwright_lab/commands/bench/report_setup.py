"""The report of a measurement, created from the options of the command, and its exit status."""

from collections.abc import Sequence

import click
from lockwright.base.interrupts import Stopped
from lockwright.calibrate.report import Column, Report
from lockwright.commands.common.options import stored_value
from lockwright.doctor import examine
from lockwright.machine import pinning
from lockwright.machine.meters import Meters
from lockwright.run.bench_program import loops_per_us

BEFORE_AND_AFTER = 20.0
"""Seconds in addition to its warm-up and measurement after which a run is killed."""


def new_report(workload: str, columns: Sequence[Column], settings: dict[str, object]) -> Report:
    """Return an empty report with the command that repeats the measurement."""
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


def pinned_busy_work() -> dict[str, object]:
    """Return the options of the measuring program that pin each thread to a core and set the speed
    of the busy work. A placement by the scheduler varies more than the compared libraries."""
    processors = pinning.processor_lists("core", pinning.usable_processors())
    return {"loops-per-us": loops_per_us(), "pin": processors}


def finish(report: Report, stopped: Stopped | None = None) -> None:
    """End the command with the status of the signal that stopped it, or 1 if a run failed."""
    context = click.get_current_context()
    if stopped is not None:
        click.echo("lockwright: stopped; the figures are of the completed rounds", err=True)
        context.exit(stopped.status)
    if report.failures:
        context.exit(1)
