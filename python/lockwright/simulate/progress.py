"""The display of the progress of simulations."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lockwright.base.progress import Display

_QUIET = 3.0
"""Seconds before the first line where there is no terminal: short commands print none."""


@contextmanager
def simulations(number: int, what: str = "simulations") -> Iterator[Callable[[str], None]]:
    """Show the progress of so many simulations, with the estimated time left, and yield the
    function to call after each with its description: a bar on a terminal; elsewhere, if they take
    long, a line, and from then on one for each tenth. what: the simulations in words."""
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
