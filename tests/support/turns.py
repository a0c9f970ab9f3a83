"""Turns of the workers: a test that judges a measurement runs while no other test runs."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from support import locate

_FOLDER = locate.ROOT / "build" / "log"


def _locked(name: str, operation: int) -> IO[bytes]:
    """Return an open file with a lock on it, which ends when the file is closed."""
    file = (_FOLDER / name).open("ab")
    fcntl.flock(file, operation)
    return file


@contextmanager
def turn(alone: bool) -> Iterator[None]:
    """Wait until a test may run. One that runs alone keeps the others from starting, then waits
    until the running ones have ended: it does not wait for a moment in which none runs."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    if alone:
        with _locked("turns-entrance", fcntl.LOCK_EX), _locked("turns-room", fcntl.LOCK_EX):
            yield
        return
    with _locked("turns-entrance", fcntl.LOCK_SH):
        room = _locked("turns-room", fcntl.LOCK_SH)
    with room:
        yield
