"""The programs that were built with the libraries, and the JSON lines that they print."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright.base import extensions
from lockwright.base.errors import LockwrightError
from lockwright.preload import locks

Line = Mapping[str, Any]
"""A JSON object that such a program printed."""


def find(name: str, what: str) -> Path:
    """Return the absolute path of a program. Raises LockwrightError if it was not built. what: the
    kind of program in the message."""
    libraries = locks.directory()
    folders: list[Path] = [libraries.parent / "bin", libraries]
    folders += extensions.added(extensions.PROGRAMS).values()
    for folder in folders:
        path = folder / name
        if os.access(path, os.X_OK) and path.is_file():
            return path
    raise LockwrightError(
        f"the {what} program {name} is not in {folders[0]}", "build or install Lockwright again"
    )


def parsed(text: str) -> Line | None:
    """Return a line that such a program printed; None if it is not a JSON object, such as the last
    line of a killed program."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
