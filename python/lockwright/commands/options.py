"""Options that several commands have."""

from collections.abc import Callable
from typing import Any

import click

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
