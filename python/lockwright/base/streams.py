"""The standard streams where the caller closed them, or stopped reading."""

import os
import sys
from typing import IO

_left = False


def open_closed() -> None:
    """Gives the standard streams that the caller closed a file that nobody reads.

    Else the next file that is opened would take the place of one of them, and `print` to a
    standard error that is closed goes to standard output. A program that is started does not
    inherit these files: it finds its streams closed, as it would without us.
    """
    for handle, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, mode, closefd=False))


def leave_output() -> None:
    """Lets standard output go nowhere, since nobody takes what is written to it."""
    global _left
    _left = True
    discard_writes(sys.stdout)


def discard_writes(stream: IO[str]) -> None:
    """Lets a stream go nowhere, also what has not been written yet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def reader_has_left() -> bool:
    """Whether `leave_output` was called."""
    return _left
