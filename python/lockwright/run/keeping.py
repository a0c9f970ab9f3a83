"""The keeper as this process sees it: starts programs, and ends all of them when it is closed."""

import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.run.assistant import Assistant

_SCRIPT = Path(__file__).with_name("keeper.py")


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


class Keeping(Assistant):
    """A keeper that runs."""

    def __init__(self) -> None:
        """Starts it."""
        super().__init__(_SCRIPT, "starts the programs", "repeat the command to go on")

    def __enter__(self) -> "Keeping":
        """Itself."""
        return self

    def run(self, process: Process, timeout: float) -> dict[str, Any]:
        """Runs it to its end. The facts are those of the supervisor of comparisons."""
        return self.ask(process.request("run") | {"timeout": timeout})

    def start(self, process: Process) -> tuple[int, str]:
        """Starts it and goes on; its id, or 0 and why it cannot be."""
        facts = self.ask(process.request("start"))
        return facts.get("pid", 0), facts.get("reason", "")

    def status(self, pid: int) -> int | None:
        """The wait status of one that was started; None while it runs."""
        found: int | None = self.ask({"do": "status", "pid": pid})["status"]
        return found

    def end(self, pid: int, seconds: float, number: int = signal.SIGTERM) -> int | None:
        """Sends a signal, if it is not 0, and waits; None if it has not ended by then."""
        request = {"do": "end", "pid": pid, "signal": int(number), "seconds": seconds}
        found: int | None = self.ask(request)["status"]
        return found

    def clear(self) -> None:
        """Kills all that has been started and is still there."""
        self.ask({"do": "clear"})
