"""Standard streams that the caller closed or stopped reading."""

import os
import sys
from typing import IO

_left = False


def open_closed() -> None:
    """Open /dev/null in place of standard streams that the caller closed.

    Otherwise the next opened file would get the number of one of them, and a `print` to a closed
    standard error would go to standard output. Child processes do not inherit these files.
    """
    for handle, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, mode, closefd=False))


def leave_output() -> None:
    """Discard standard output, because its reader closed it."""
    global _left
    _left = True
    discard_writes(sys.stdout)


def discard_writes(stream: IO[str]) -> None:
    """Discard all writes to a stream, including the buffered ones."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def reader_has_left() -> bool:
    """Return whether the reader of standard output closed it."""
    return _left
