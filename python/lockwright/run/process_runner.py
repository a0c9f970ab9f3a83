"""Starts programs, one process tree at a time, and returns their endings.

Every measurement, torture and check starts its programs here. A supervisor process does the work:
it enforces time limits, collects output, and kills process trees, also when this process is
interrupted or dies (`supervisor.py`). Short queries of system tools are made by `base.tool`, and
programs in the foreground are run by `foreground`.
"""

import contextlib
import json
import math
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lockwright.base.errors import LockwrightError
from lockwright.base.interrupts import STOPPING
from lockwright.machine.meters import Meters, Reading
from lockwright.run.record import describe_status

_SCRIPT = Path(__file__).with_name("supervisor.py")
_PATIENCE = 20.0
"""Seconds for the supervisor to kill its processes and exit."""

Sink = Path | Literal["nowhere", "memory"]
"""Destination of an output; `memory` returns it with the ending."""


@dataclass(frozen=True)
class Process:
    """A program to start.

    folder: the working directory, None for the current one; out, err: destinations of its outputs;
    processors: the allowed ones, all if empty; batch: whether its policy is SCHED_BATCH;
    small_pages: whether it has no transparent huge pages; program: its path, if it is not the first
    word's.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | None = None
    out: Sink = "memory"
    err: Sink = "memory"
    processors: Sequence[int] = ()
    program: Path | None = None
    batch: bool = False
    small_pages: bool = False

    def request(self, do: str) -> dict[str, Any]:
        """Return the request to the supervisor."""
        program = str(self.program or self.argv[0])
        if "/" not in program:
            program = shutil.which(program, path=self.environment.get("PATH")) or program
        return {
            "do": do,
            "program": program,
            "argv": list(self.argv),
            "environment": dict(self.environment),
            "folder": str(self.folder or Path.cwd()),
            "out": str(self.out),
            "err": str(self.err),
            "processors": list(self.processors),
            "batch": self.batch,
            "small_pages": self.small_pages,
        }


@dataclass(frozen=True)
class Ending:
    """The end of a run.

    outcome: `exited`, `timeout`, `silent` (it printed nothing for too long), `flood` (too much),
    `unstartable` (for `reason`) or `aborted` (by an interrupt). limit: its time limit in seconds.
    wall, user, system: seconds, CPU time over the whole process tree; voluntary, involuntary:
    context switches; others: share of all CPUs that other processes used, 0..1, None if the run was
    too short; status: a wait status; name: the kernel's, of the program of `pid`; left: number of
    descendants that had to be killed. output, errors: text that went to `memory`, of the errors the
    end; metric: the match in the output. reading: of the meters.
    """

    outcome: str
    limit: float = 0.0
    wall: float = 0.0
    user: float = 0.0
    system: float = 0.0
    voluntary: int = 0
    involuntary: int = 0
    faults: int = 0
    others: float | None = None
    status: int | None = None
    pid: int = 0
    name: str = ""
    left: int = 0
    reason: str = ""
    output: str = ""
    errors: str = ""
    metric: str | None = None
    reading: Reading | None = None

    @property
    def meters(self) -> dict[str, float]:
        """The values read around the run, by the keys of lockwright.machine.meters."""
        return {} if self.reading is None else self.reading.values

    def problem(self, errors: str | None = None, wanted: int = 0) -> str | None:
        """Return the reason why the run is invalid; None if it ended with the status `wanted`.
        errors: its standard error, if that is not in `self.errors`."""
        match self.outcome:
            case "unstartable":
                return f"cannot be started: {self.reason}"
            case "timeout":
                return f"took more than {self.limit:g} s"
            case "silent":
                return "printed nothing for too long"
            case "flood":
                return "printed more than 1 GiB"
            case "exited" if self.status is not None and self.status != wanted << 8:
                line = last_lines(self.errors if errors is None else errors)
                return f"{describe_status(self.status)}: {line}".rstrip(": ")
        return None if self.outcome == "exited" else "was interrupted"


def last_lines(text: str, count: int = 1) -> str:
    """Return the last `count` non-empty lines as one printable line."""
    lines = [line.strip()[:300] for line in text.splitlines() if line.strip()]
    # Control characters must not reach the terminal.
    return "".join(each if each.isprintable() else "?" for each in " | ".join(lines[-count:]))


class Stream:
    """The lines of a running program as it prints them; `ending` is set after the last line."""

    def __init__(self, runner: "ProcessRunner", request: dict[str, Any]) -> None:
        """The first iteration starts the program."""
        self._runner = runner
        self._request = request
        self.ending = Ending("aborted")

    def __iter__(self) -> Iterator[str]:
        """Yield lines without line ends. Leaving the iteration early ends the program."""
        with self._runner.ended_if_left():
            facts = self._runner.ask(self._request)
            while facts.get("event") == "line":
                yield facts["text"]
                facts = self._runner.ask(None)
        self.ending = Ending(limit=self._request["timeout"], **facts)


class ProcessRunner:
    """Starts programs by a supervisor process. An interrupt during a run closes it: no process
    remains, and later requests return `aborted`."""

    def __init__(self, todo: str = "run it again") -> None:
        """todo: advice in the message if the supervisor dies."""
        self._todo = todo
        self._is_open = True
        self._process: subprocess.Popen[bytes] | None = None

    def _supervisor(self) -> "subprocess.Popen[bytes]":
        """Return the supervisor process, started when it is first needed."""
        if self._process is None:
            # No interrupt between its start and the assignment.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            try:
                # In its own session, the terminal's Ctrl-C does not reach the programs.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_SCRIPT)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self._process

    def __enter__(self) -> "ProcessRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The supervisor's process id: the parent of all started processes."""
        return self._supervisor().pid

    @property
    def is_open(self) -> bool:
        return self._is_open

    def close(self) -> None:
        """End the supervisor and its processes, and wait for that."""
        process, is_open, self._is_open = self._process, self._is_open, False
        if process is None or not is_open:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    @contextlib.contextmanager
    def ended_if_left(self) -> Iterator[None]:
        """Close the runner if an exception leaves the block."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def ask(self, request: Mapping[str, Any] | None) -> dict[str, Any]:
        """Send `request`, if there is one, and return the supervisor's next answer. Raises
        LockwrightError if it died."""
        if not self._is_open:
            return {"outcome": "aborted"}
        process = self._supervisor()
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            if request is not None:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            raise LockwrightError(
                "the process that starts the programs has died",
                f"check whether memory ran out, then {self._todo}",
            )
        facts: dict[str, Any] = json.loads(line)
        return facts

    def run(
        self,
        process: Process,
        timeout: float,
        *,
        clear: bool = True,
        others_running: bool = False,
        metric: str | None = None,
        meters: Meters | None = None,
        every: float | None = None,
        pause: tuple[float, float] | None = None,
    ) -> Ending:
        """Run a program to its end, for at most `timeout` seconds.

        clear: whether descendants that outlive it are killed; with False they run until `clear`.
        others_running: include the CPU time of processes started before, such as a server. metric:
        a pattern searched in the outputs, which are then not returned. meters, every: as for
        `Meters.around`, from right before its start to its end. pause: seconds after which all
        started processes are stopped, and seconds for which they are.
        """
        request = _run_request(process, timeout, clear=clear, others_running=others_running)
        request |= {"metric": metric, "announce": meters is not None, "pause": pause}
        reading = None
        with self.ended_if_left():
            facts = self.ask(request)
            if meters is not None and facts.get("event") == "ready":
                with meters.around(self.pid, every) as reading:
                    facts = self.ask({})
                if facts.get("event") == "ended":
                    facts = self.ask(None)
        ending = Ending(limit=timeout, reading=reading, **facts)
        if meters is not None and meters.counters and reading is not None:
            reading.values["context_switches"] = float(ending.voluntary + ending.involuntary)
            reading.values["page_faults"] = float(ending.faults)
        return ending

    def stream(self, process: Process, timeout: float, silence: float = math.inf) -> Stream:
        """Return the running program's output line by line. silence: seconds after which a program
        that prints nothing is ended."""
        request = _run_request(process, timeout, clear=True, others_running=False)
        return Stream(self, request | {"out": "lines", "silence": silence})

    def start(self, process: Process) -> tuple[int, str]:
        """Start a program without waiting for it; return its id, or 0 and the reason."""
        facts = self.ask(process.request("start"))
        return facts.get("pid", 0), facts.get("reason", "")

    def status(self, pid: int) -> int | None:
        """Return the wait status of a started process; None while it runs."""
        wait_status: int | None = self.ask({"do": "status", "pid": pid}).get("status")
        return wait_status

    def end(self, pid: int, seconds: float, number: int = signal.SIGTERM) -> int | None:
        """Send a signal, unless it is 0, and wait; None if the process has not ended by then."""
        request = {"do": "end", "pid": pid, "signal": int(number), "seconds": seconds}
        wait_status: int | None = self.ask(request).get("status")
        return wait_status

    def clear(self) -> int:
        """Kill all started processes that still run; return their number."""
        return int(self.ask({"do": "clear"}).get("left", 0))


def _run_request(
    process: Process, timeout: float, *, clear: bool, others_running: bool
) -> dict[str, Any]:
    return process.request("run") | {
        "timeout": timeout,
        "silence": math.inf,
        "clear": clear,
        "others_running": others_running,
        "metric": None,
        "announce": False,
        "pause": None,
    }
