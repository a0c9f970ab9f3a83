"""The machine that a command simulates: a described one, or this one, measured at the first use."""

import sys

from lockwright.base.errors import LockwrightError
from lockwright.calibrate import machine_file
from lockwright.simulate.machine import Machine, load

HERE = "here"
"""The name of this machine."""


def load_machine(name: str, timeout: float) -> Machine:
    """Return a machine by name or file; HERE is measured once, in runs of `timeout` seconds. Raises
    LockwrightError if it cannot be read."""
    if name != HERE:
        return load(name)
    path = machine_file.default_path()
    if not path.exists():
        print(f"Measuring this machine for {path}", file=sys.stderr, flush=True)
        machine_file.write(path, 3, timeout)
    try:
        return load(str(path))
    except LockwrightError as error:
        # The user has not named the file; another version may have written it.
        todo = f"'lockwright calibrate --machine-file {HERE}' measures this machine again"
        raise LockwrightError(error.what, todo) from error
