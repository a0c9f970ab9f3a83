"""Options that several commands have."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lockwright.errors import LockwrightError

_RWLOCK = click.option(
    "--rwlock",
    metavar="keep|mutex|phase-fair",
    help="What becomes of reader-writer locks: they stay the C library's, or become the lock, "
    "readers too, or one whose readers and writers take turns.  [default: keep]",
)
_SPIN = click.option(
    "--spin",
    metavar="keep|mutex",
    help="What becomes of spin locks: they stay the C library's, or become the lock, if that fits "
    "into them.  [default: keep]",
)


def of_other_locks(command: Callable[..., Any]) -> Callable[..., Any]:
    """What becomes of locks that are no mutexes: `rwlock` and `spin`, both None if not given."""
    return _RWLOCK(_SPIN(command))


def check_writable(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    """Refuses, before minutes are spent on the work, a file that cannot be written then."""
    if file is None:
        return None
    there = file if file.exists() else file.absolute().parent
    if not there.exists() or not os.access(there, os.W_OK):
        raise LockwrightError(f"cannot write {file}", "choose another file with --json")
    return file


def number_list(text: str, option: str, least: float) -> list[float]:
    """A list such as `1,4,16`. Raises LockwrightError for anything else."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(least <= value < 1e9 for value in values):
        raise LockwrightError(
            f"'{text}' is not a list of numbers for {option}",
            f"give numbers of {least:g} or more, separated by commas",
        )
    return values
