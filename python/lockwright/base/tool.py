"""Runs a system tool and returns its output: the dynamic linker, addr2line, a compiler."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60.0
"""Seconds after which a tool is killed."""


@dataclass(frozen=True)
class Answer:
    """The result of a tool. status: its exit status; None if it did not start or was killed."""

    status: int | None
    output: str = ""
    errors: str = ""


def call(
    words: Sequence[str | Path],
    text: str = "",
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Answer:
    """Run a tool to its end. text: its standard input; environment: None for this process's."""
    try:
        done = subprocess.run(
            words,
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        return Answer(None, errors=error.strerror or str(error))
    except subprocess.TimeoutExpired:
        return Answer(None, errors=f"it takes more than {seconds:g} s")
    return Answer(done.returncode, done.stdout, done.stderr)
