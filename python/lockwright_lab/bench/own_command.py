"""Runs of `lockwright` from the laboratory."""

import subprocess
from pathlib import Path

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError


def output_of(*words: str | Path, timeout: float) -> str:
    """Run `lockwright WORDS` for at most `timeout` seconds and return its standard output. Raises
    LockwrightError, with its last line, if it fails."""
    command = [*invocation.command_words(), *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise LockwrightError(f"{words[0]} took more than {timeout:g} s", "try it alone") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{words[0]} ended with {done.returncode}"]
        raise LockwrightError(lines[-1].removeprefix("lockwright: "), "try it alone")
    return done.stdout
