"""`lockwright calibrate`: measure this machine, and set the numbers of the locks by it."""

import os
from pathlib import Path

import click


@click.command("calibrate")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.  [default: lockwright/calibration.json in $XDG_CONFIG_HOME]",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=7,
    show_default=True,
    help="How often each is measured.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds after which one run is killed.",
)
def command(output: Path | None, rounds: int, timeout: float) -> None:
    """Measure this machine and set the numbers of the locks by it.

    From then on `lockwright run` and `lockwright compare` use these settings, but for what the
    environment sets. `lockwright info LOCK` shows where each number comes from. Without a
    calibration the locks keep their defaults.
    """
    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.bench import machine, report
    from lockwright.machine import calibration

    path = output or calibration.default_path()
    if output is not None and not os.access(output.absolute().parent, os.W_OK):
        raise LockwrightError(f"cannot write {output}", "choose another file with --output")
    measured = report.Report(
        "calibrate", ["lockwright", "calibrate", "--rounds", str(rounds)], {}, machine.COLUMNS
    )
    figures, tables = machine.measure(measured, rounds, timeout)
    if measured.failures or "sleep" not in figures:
        why = measured.failures[0] if measured.failures else "nothing was measured"
        raise LockwrightError(f"the machine could not be measured: {why}", "try it again")
    values, followed = machine.settings(figures)
    calibration.write(path, figures, values, measured.busy)
    console = terminal.output()
    for each in (*tables, followed):
        console.print(each)
    console.print(machine.LEFT)
    if measured.busy is not None:
        console.print(report.noise(measured.busy))
    console.print(f"Written: {path}")
    if output is not None:
        console.print(f"To use it: {calibration.VARIABLE}={path.absolute()}")
