"""Consoles: output to a terminal is coloured and wrapped, output to a pipe is not."""

import sys
import textwrap
from collections.abc import Iterable
from typing import IO

from rich.console import Console

from lockwright.base import streams

PIPE_WIDTH = 400
"""Columns of a table that is not printed to a terminal: enough that no row is wrapped."""

_LONGEST_LINE = 100
"""Most columns of running text."""


class _OutputConsole(Console):
    """A console on standard output. If the pipe is closed, the command continues without output."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        streams.leave_output()


class _SecondaryConsole(Console):
    """A console for secondary output. If the pipe is closed, only this output ends."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        streams.discard_writes(self.file)


def secondary(file: IO[str]) -> Console:
    """Return a console on a file, which is silent after the pipe is closed."""
    width = None if file.isatty() else PIPE_WIDTH
    return _SecondaryConsole(file=file, width=width, highlight=False, markup=False)


def output() -> Console:
    """Return a console on standard output."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return _OutputConsole(file=sys.stdout, width=width, highlight=False, markup=False)


def errors() -> Console:
    """Return a console on standard error."""
    return secondary(sys.stderr)


def print_wrapped(console: Console, start: str, text: str, style: str) -> None:
    """Print `start` and `text`, wrapped and indented on a terminal, as one line to a pipe."""
    if not console.is_terminal:
        console.print(start + text, soft_wrap=True)
        return
    lines = textwrap.wrap(
        text,
        max(min(console.width, _LONGEST_LINE), len(start) + 20),
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(line, style=style, soft_wrap=True)


def print_terms(console: Console, terms: Iterable[tuple[str, str]]) -> None:
    """Print terms and their meanings, aligned in two columns."""
    terms = list(terms)
    width = max(len(term) for term, _ in terms)
    for term, meaning in terms:
        print_wrapped(console, f"{term:<{width}}  ", meaning, "dim")
