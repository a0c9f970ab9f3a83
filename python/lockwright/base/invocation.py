"""The words that started this command, for the commands that it suggests to the user."""

import shutil
import sys
from pathlib import Path


def command_words() -> list[str]:
    """Return the words that start `lockwright` from the user's shell, in the current directory."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return [sys.executable, "-m", "lockwright"]
    found = shutil.which("lockwright")
    if found is not None and called.exists() and called.samefile(found):
        return ["lockwright"]
    return [sys.argv[0]]
