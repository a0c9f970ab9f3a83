"""Consoles: what goes to a person's terminal may be coloured and wrapped, a pipe gets neither."""

import os
import sys
import textwrap
from collections.abc import Iterable
from typing import IO

from rich.console import Console

from lockwright.base import streams

PIPE_WIDTH = 400
"""Columns given to a table that no terminal shows: wide enough that no row is ever wrapped."""

_LONGEST_LINE = 100
"""Columns of running text, however wide the screen is."""


class _Console(Console):
    """A console whose reader may leave: the rest of the work, such as files, is still done."""

    def on_broken_pipe(self) -> None:
        """Continues without output."""
        self.quiet = True
        streams.leave_output()


class _Errors(Console):
    """The same on standard error: the exit status still says how the program ended."""

    def on_broken_pipe(self) -> None:
        """Continues without output."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)


class _Besides(Console):
    """A console for secondary output: nothing changes if its reader leaves."""

    def on_broken_pipe(self) -> None:
        """Continues without output."""
        self.quiet = True
        streams.discard_writes(self.file)


def besides(file: IO[str]) -> Console:
    """A console on a file, which is silent once its reader has left."""
    width = None if file.isatty() else PIPE_WIDTH
    return _Besides(file=file, width=width, highlight=False, markup=False)


def output() -> Console:
    """Console on standard output."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return _Console(file=sys.stdout, width=width, highlight=False, markup=False)


def errors() -> Console:
    """Console on standard error."""
    width = None if sys.stderr.isatty() else PIPE_WIDTH
    return _Errors(file=sys.stderr, width=width, highlight=False, markup=False)


def print_wrapped(console: Console, start: str, text: str, style: str) -> None:
    """`start` and `text`, wrapped under itself on a terminal; one line for a pipe."""
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
    """A list of terms and what they mean, the meanings one below the other."""
    terms = list(terms)
    width = max(len(term) for term, _ in terms)
    for term, meaning in terms:
        print_wrapped(console, f"{term:<{width}}  ", meaning, "dim")
