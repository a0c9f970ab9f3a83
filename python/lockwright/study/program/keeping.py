"""The keeper as this process sees it: starts programs, and ends all of them when it is closed."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.errors import LockwrightError

_SCRIPT = Path(__file__).with_name("keeper.py")
_PATIENCE = 20.0
"""Seconds for the keeper to kill what it has started and leave."""


@dataclass(frozen=True)
class Process:
    """What is to be started: words, environment, directory, and files that take its output.

    processors: it may run on these only; all if empty.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    out: Path
    err: Path
    processors: Sequence[int] = ()

    def request(self, do: str) -> dict[str, Any]:
        """As the keeper is asked for it."""
        program = self.argv[0]
        if "/" not in program:
            program = shutil.which(program, path=self.environment.get("PATH")) or program
        return {
            "do": do,
            "program": program,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "folder": str(self.folder),
            "out": str(self.out),
            "err": str(self.err),
            "processors": list(self.processors),
        }


class Keeping:
    """A keeper that runs. Used as a context, it is closed at the end."""

    def __init__(self) -> None:
        """Starts it."""
        # A session of its own keeps the terminal's Ctrl-C from the programs: we stop them in order.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> "Keeping":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

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

    def run(self, process: Process, timeout: float) -> dict[str, Any]:
        """Runs it to its end. The facts are those of the supervisor of comparisons."""
        return self._ask(process.request("run") | {"timeout": timeout})

    def start(self, process: Process) -> tuple[int, str]:
        """Starts it and goes on; its id, or 0 and why it cannot be."""
        facts = self._ask(process.request("start"))
        return facts.get("pid", 0), facts.get("reason", "")

    def status(self, pid: int) -> int | None:
        """The wait status of one that was started; None while it runs."""
        found: int | None = self._ask({"do": "status", "pid": pid})["status"]
        return found

    def end(self, pid: int, seconds: float, number: int = signal.SIGTERM) -> int | None:
        """Sends a signal, if it is not 0, and waits; None if it has not ended by then."""
        request = {"do": "end", "pid": pid, "signal": int(number), "seconds": seconds}
        found: int | None = self._ask(request)["status"]
        return found

    def clear(self) -> None:
        """Kills all that has been started and is still there."""
        self._ask({"do": "clear"})

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise LockwrightError(
                "the process that starts the programs has died",
                "see whether memory ran out, then repeat the command to go on",
            )
        facts: dict[str, Any] = json.loads(line)
        return facts
