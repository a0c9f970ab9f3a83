"""A script in a process of its own that starts programs for this one: asked and answering in lines
of JSON, it ends all that it has started when it is closed, or when this process has died."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError

_PATIENCE = 20.0
"""Seconds for it to kill what it has started and leave."""


class Assistant:
    """The script, running. Used as a context, it is closed at the end."""

    def __init__(self, script: Path, task: str, todo: str) -> None:
        """Starts it. task, todo: what it does, and what to do should it die, for the message."""
        self._task = task
        self._todo = todo
        # A session of its own keeps the terminal's Ctrl-C from the programs: we stop them in order.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> "Assistant":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    @property
    def pid(self) -> int:
        """Its number, and that of its session."""
        return self._process.pid

    def close(self) -> None:
        """Ends it and all that it has started, and waits for that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.stdout.close()

    def ask(self, request: Mapping[str, Any] | None) -> dict[str, Any]:
        """What it says next, after `request` if there is one. Raises LockwrightError if it died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            if request is not None:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise LockwrightError(
                f"the process that {self._task} has died",
                f"see whether memory ran out, then {self._todo}",
            )
        facts: dict[str, Any] = json.loads(line)
        return facts
