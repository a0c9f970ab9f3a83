"""`lockwright calibrate`: measure this machine, and set the parameters of the locks accordingly."""

from pathlib import Path

import click

from lockwright.commands.common import brief, grammar


@brief.command("calibrate")
@grammar.output_to_file(
    "the calibration",
    default="lockwright/calibration.json in $XDG_CONFIG_HOME",
    callback=grammar.writable,
)
@click.option(
    "--machine-file",
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
    from lockwright.base.errors import LockwrightError
    from lockwright.calibrate import session

    if machine_path is None:
        session.calibrate(output, runs, timeout)
        return
    if output is not None:
        raise LockwrightError(
            "--output is for the parameters of the locks, which --machine-file does not measure",
            "leave one of them out",
        )
    session.describe_machine(machine_path, runs, timeout)
