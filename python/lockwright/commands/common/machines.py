"""Machines of simulating commands, and the display of their progress."""

import time
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
    from lockwright.calibrate import machine_file
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


_QUIET = 3.0
"""Seconds before the first line where there is no terminal: short commands print none."""


@contextmanager
def simulations(number: int, what: str = "simulations") -> Iterator[Callable[[str], None]]:
    """Show the progress of so many simulations, with the estimated time left, and yield the
    function to call after each with its description: a bar on a terminal; elsewhere, if they take
    long, a line, and from then on one for each tenth. what: the simulations in words."""
    from lockwright.base.progress import Display

    ended, tenth, line = 0, -1, ""
    began = time.monotonic()
    with Display(number, 0) as display:

        def advance(about: str) -> None:
            nonlocal ended, tenth, line
            ended += 1
            display.advance()
            elapsed = time.monotonic() - began
            if elapsed >= _QUIET and 10 * ended // number > tenth:
                tenth = 10 * ended // number
                line = f"{ended} of {number} {what}"
            display.announce(about, line, elapsed / ended * (number - ended))

        display.announce(what, "", None)
        yield advance
