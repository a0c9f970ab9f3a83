"""Programs that a test runs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def captured(
    words: Sequence[str | Path], *, timeout: float = 120, **more: Any
) -> subprocess.CompletedProcess[str]:
    """What a program printed, and its status, whatever that is. `more` goes to subprocess.run."""
    return subprocess.run(
        words, capture_output=True, text=True, timeout=timeout, check=False, **more
    )
