"""The programs that were built with the libraries."""

import os
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.preload import locks


def find(name: str, what: str) -> Path:
    """Absolute path of a program. Raises LockwrightError if it was not built.

    what: what kind of program it is, for the message.
    """
    libraries = locks.directory()
    for place in (libraries.parent / "bin", libraries):
        found = place / name
        if os.access(found, os.X_OK) and found.is_file():
            return found
    raise LockwrightError(
        f"the {what} program {name} is not in {libraries.parent / 'bin'}",
        "build or install Lockwright again",
    )
