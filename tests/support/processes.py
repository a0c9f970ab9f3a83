"""Programs that a test runs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def captured(
    words: Sequence[str | Path], *, timeout: float = 120, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its output and status, whatever that is. `more` goes to
    subprocess.run.
    """
    return subprocess.run(
        words, capture_output=True, text=True, timeout=timeout, check=False, **more
    )


def assert_refused(status: int, out: str, err: str, *parts: str) -> None:
    """Assert status 2, no output, and one line of explanation and advice that has all `parts`."""
    assert (status, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert err.startswith("lockwright: ")
    assert "; " in err, "no advice"
    for part in parts:
        assert part in err
