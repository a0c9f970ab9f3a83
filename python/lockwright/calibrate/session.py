"""What `lockwright calibrate` does: it measures, prints and writes."""

from pathlib import Path

from lockwright.base import terminal
from lockwright.base.terminal import print_wrapped
from lockwright.calibrate import machine, machine_file, probes
from lockwright.experiment.terminal import print_grid
from lockwright.machine import calibration, load


def calibrate(output: Path | None, runs: int, timeout: float) -> None:
    """Measure the durations that matter for locks, and write the parameters. output: the file, None
    for the user's; runs: of each measurement; timeout: seconds of each run."""
    path = output or calibration.default_path()
    measured = probes.measure(machine.probes(), runs, timeout)
    figures = machine.figures(measured)
    values, of_settings = machine.settings(figures)
    calibration.write(path, figures, values, measured.busy)
    console = terminal.output()
    for each in (machine.durations(figures), of_settings):
        print_grid(console, each)
        console.print()
    console.print(machine.DEFAULTS_REMARK)
    if disturbed := load.warning(measured.others):
        print_wrapped(console, "Warning: ", disturbed, "yellow")
    console.print(f"Written: {path}")
    if output is not None:
        console.print(f"To use it: {calibration.VARIABLE}={path.absolute()}")


def describe_machine(path: Path, runs: int, timeout: float) -> None:
    """Measure this machine for the simulator, and write its description. path: `here` stands for
    the file that `here` reads."""
    path = machine_file.default_path() if path == Path("here") else path
    machine_file.write(path, runs, timeout)
    terminal.output().print(f"Written: {path}", markup=False, soft_wrap=True)
