"""What `lockwright calibrate` does: it measures, prints and writes."""

from pathlib import Path

from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate import machine, machine_file, report
from lockwright.machine import calibration


def calibrate(output: Path | None, runs: int, timeout: float) -> None:
    """Measure the durations that matter for locks, and write the parameters. output: the file, None
    for the user's; runs: of each measurement; timeout: seconds of each run."""
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


def describe_machine(path: Path, runs: int, timeout: float) -> None:
    """Measure this machine for the simulator, and write its description. path: `here` stands for
    the file that `here` reads."""
    path = machine_file.default_path() if path == Path("here") else path
    machine_file.write(path, machine_file.document(machine_file.measure(runs, timeout)))
    terminal.output().print(f"Written: {path}", markup=False, soft_wrap=True)
