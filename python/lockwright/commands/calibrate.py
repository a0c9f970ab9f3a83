"""`lockwright calibrate`: measure this machine, and set the parameters of the locks accordingly."""

from pathlib import Path

import click

from lockwright.commands.common import grammar


@click.command("calibrate")
@grammar.output_to_file(
    "the calibration",
    default="lockwright/calibration.json in $XDG_CONFIG_HOME",
    callback=grammar.writable,
)
@click.option(
    "--machine",
    "machine_path",
    type=grammar.FILE,
    metavar="FILE",
    callback=grammar.writable,
    help="Describe this machine for 'lockwright simulate' in FILE instead; 'here' is the file that "
    "'lockwright simulate --machine here' uses.",
)
@grammar.runs(7, of="each measurement")
@grammar.timeout(30.0)
def command(output: Path | None, machine_path: Path | None, runs: int, timeout: float) -> None:
    """Measure this machine and set the parameters of the locks accordingly.

    `lockwright run` and `lockwright compare` then use these settings, unless the environment
    overrides them. `lockwright info LOCK` prints the origin of each value. Without a calibration
    the locks use their defaults.
    """
    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.calibrate import machine, machine_file, report
    from lockwright.machine import calibration

    if machine_path is not None:
        if output is not None:
            raise LockwrightError(
                "--output is for the parameters of the locks, which --machine does not measure",
                "leave one of them out",
            )
        path = machine_file.default_path() if machine_path == Path("here") else machine_path
        machine_file.write(path, machine_file.document(machine_file.measure(runs, timeout)))
        terminal.output().print(f"Written: {path}", markup=False, soft_wrap=True)
        return
    path = output or calibration.default_path()
    measured = report.Report(
        "calibrate", ["lockwright", "calibrate", "--runs", str(runs)], {}, machine.COLUMNS
    )
    figures, tables = machine.measure(measured, runs, timeout)
    if measured.failures or "sleep" not in figures:
        why = measured.failures[0] if measured.failures else "nothing was measured"
        raise LockwrightError(f"the machine could not be measured: {why}", "try it again")
    values, settings_table = machine.settings(figures)
    calibration.write(path, figures, values, measured.busy)
    console = terminal.output()
    for each in (*tables, settings_table):
        console.print(each)
    console.print(machine.DEFAULTS_REMARK)
    if measured.busy is not None:
        console.print(report.noise(measured.busy))
    console.print(f"Written: {path}")
    if output is not None:
        console.print(f"To use it: {calibration.VARIABLE}={path.absolute()}")
