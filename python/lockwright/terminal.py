"""Consoles: what goes to a person's terminal may be coloured and wrapped, a pipe gets neither."""

import sys

from rich.console import Console

PIPE_WIDTH = 400
"""Columns given to a table that no terminal shows: wide enough that no row is ever wrapped."""


def output() -> Console:
    """Console on standard output."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False)


def errors() -> Console:
    """Console on standard error."""
    width = None if sys.stderr.isatty() else PIPE_WIDTH
    return Console(file=sys.stderr, width=width, highlight=False, markup=False)
