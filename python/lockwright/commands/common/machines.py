"""Machines of simulating commands, and the display of their progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lockwright.simulate.machine import Machine

HERE = "here"
"""The name of this machine."""


def load_machine(name: str, timeout: float) -> "Machine":
    """Return a machine by name or file; HERE is measured once, in runs of `timeout` seconds. Raises
    LockwrightError if it cannot be read."""
    from lockwright.base.errors import LockwrightError
    from lockwright.bench import machine_file
    from lockwright.simulate import machine as machines

    if name != HERE:
        return machines.load(name)
    path = machine_file.default_path()
    if not path.exists():
        click.echo(f"Measuring this machine for {path}", err=True)
        machine_file.write(path, machine_file.document(machine_file.measure(3, timeout)))
    try:
        return machines.load(str(path))
    except LockwrightError as error:
        # The user has not named the file; another version may have written it.
        todo = f"'lockwright calibrate --machine {HERE}' measures this machine again"
        raise LockwrightError(error.what, todo) from error


@contextmanager
def simulations(steps: int) -> Iterator[Callable[[], None]]:
    """Show the progress of so many simulations, with the estimated time left, and yield the
    function to call after each."""
    from lockwright.bench import report

    with report.progress("Simulating", steps) as bar:
        yield bar.advance
