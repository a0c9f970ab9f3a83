"""What the common options of a command that carries out an experiment say."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """Where an experiment is stored and written. db: None for the file in the user's state
    directory; resume: whether the latest interrupted one is continued."""

    db: Path | None = None
    resume: bool = False
    json_file: Path | None = None
    csv_file: Path | None = None
    html_file: Path | None = None


DEFAULTS = Request()
"""Without any option."""
