"""Profiles of programs by the command."""

import subprocess
from pathlib import Path

from lockwright.profile import record
from lockwright.profile.record import Profile

from support import locate
from support.processes import captured


def profile(
    folder: Path, *words: str | Path, status: int = 0
) -> tuple[Profile, subprocess.CompletedProcess[str]]:
    """Profile a program, which has to end with the status; return also what was printed. words:
    the program and its arguments."""
    path = folder / "profile.json"
    done = captured([locate.lockwright(), "profile", "-o", path, "--", *words])
    assert done.returncode == status, done.stderr
    return record.read(path), done


def profiled(folder: Path, *words: str | Path) -> Profile:
    """Return the profile of a program, which has to end with status 0."""
    return profile(folder, *words)[0]
