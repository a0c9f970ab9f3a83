"""Starts programs, one process tree at a time, and brings back how they ended.

All that measures, tortures or checks starts its programs here. A supervisor process does the work:
it enforces time limits, takes the output, kills whole trees of processes, and does so too when this
process is interrupted or dies (`supervisor.py`). What only answers a question about a file or the
machine, and at once, is called by `base.tool`; what is run in our place, by `foreground`.
"""

import contextlib
import json
import math
import os
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
"""Seconds for the supervisor to kill what it has started and leave."""

Sink = Path | Literal["nowhere", "memory"]
"""Where an output goes; from `memory` it comes back with the ending."""


@dataclass(frozen=True)
class Process:
    """What is to be started: words, environment, directory, and what takes its output.

    folder: None for our own; processors: it may run on these only, all if empty; program: its path,
    if that is not what the first word leads to.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | None = None
    out: Sink = "memory"
    err: Sink = "memory"
    processors: Sequence[int] = ()
    program: Path | None = None

    def request(self, do: str) -> dict[str, Any]:
        """As the supervisor is asked for it."""
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
        }


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    outcome: `exited`, `timeout`, `silent` (it printed nothing for too long), `flood` (too much),
    `unstartable` (for `reason`) or `aborted` (we were interrupted). limit: the seconds that it had.
    wall, user, system: seconds, CPU time over the whole process tree; voluntary, involuntary:
    context switches; others: share of all CPUs that other processes used, 0..1, None where the run
    was too short to tell; status: a wait status; name: the kernel's, of the program of `pid`; left:
    descendants that had to be killed. output, errors: what went to `memory`, of the errors the end;
    metric: what was looked for in the output. reading: of the meters.
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
        """What was read around it, by the keys of lockwright.machine.meters."""
        return {} if self.reading is None else self.reading.values

    def problem(self, errors: str | None = None, wanted: int = 0) -> str | None:
        """Return why the run cannot count, in words; None if it ended with the exit status
        `wanted`.

        errors: what it wrote to its standard error, if that is not in `errors`.
        """
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
    """Return the last lines that are not empty, as one that a terminal may show."""
    lines = [line.strip()[:300] for line in text.splitlines() if line.strip()]
    # It will be shown on a terminal, which must not obey it.
    return "".join(each if each.isprintable() else "?" for each in " | ".join(lines[-count:]))


class Stream:
    """The lines of a running program, as they come; `ending` is there after the last one."""

    def __init__(self, runner: "ProcessRunner", request: dict[str, Any]) -> None:
        """Nothing runs before the first line is asked for."""
        self._runner = runner
        self._request = request
        self.ending = Ending("aborted")

    def __iter__(self) -> Iterator[str]:
        """Lines without their ends. Whoever leaves before the end ends the program."""
        with self._runner.ended_if_left():
            facts = self._runner.ask(self._request)
            while facts.get("event") == "line":
                yield facts["text"]
                facts = self._runner.ask(None)
        self.ending = Ending(limit=self._request["timeout"], **facts)


class ProcessRunner:
    """Starts programs by a supervisor. Used as a context, it is closed at the end.

    An interrupt during a run closes it too: nothing is left running, and whatever is asked of it
    then comes back as `aborted`.
    """

    def __init__(self, todo: str = "run it again") -> None:
        """todo: what to do should the supervisor die, for the message."""
        self._todo = todo
        self._is_open = True
        self._process: subprocess.Popen[bytes] | None = None

    def _supervisor(self) -> "subprocess.Popen[bytes]":
        """Return the process, started when it is needed: an interrupt then finds it known."""
        if self._process is None:
            # Between its start and our knowing it, nothing may interrupt us.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            try:
                # A session of its own keeps the terminal's Ctrl-C from the programs.
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
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @property
    def pid(self) -> int:
        """The supervisor's number: the parent of all that is started."""
        return self._supervisor().pid

    @property
    def seconds_used(self) -> float:
        """CPU time of the supervisor, and of all that it has started and that has ended."""
        if self._process is None or not self._is_open:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    @property
    def is_open(self) -> bool:
        """Whether it can start programs."""
        return self._is_open

    def close(self) -> None:
        """End the supervisor and all that it has started, and waits for that."""
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
        """Whatever leaves the block by an exception closes the runner first."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def ask(self, request: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the supervisor says next, after `request` if there is one.

        Raises LockwrightError if it died.
        """
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
                f"see whether memory ran out, then {self._todo}",
            )
        facts: dict[str, Any] = json.loads(line)
        return facts

    def run(
        self,
        process: Process,
        timeout: float,
        *,
        clear: bool = True,
        others_go_on: bool = False,
        metric: str | None = None,
        meters: Meters | None = None,
        every: float | None = None,
    ) -> Ending:
        """Run a program to its end, for at most `timeout` seconds.

        clear: whether descendants that outlive it are killed; with False they go on until `clear`.
        others_go_on: the CPU time is also that of processes started before, as that of a server.
        metric: a pattern that is looked for in the outputs, of which nothing else comes back.
        meters, every: what is read around it, from right before it starts until it has ended, and
        how often, as `Meters.around` says.
        """
        request = _run_request(process, timeout, clear=clear, others_go_on=others_go_on)
        request |= {"metric": metric, "announce": meters is not None}
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
        """Return the same for whoever reads the lines of its output while it runs.

        silence: seconds after which a program that prints nothing is ended.
        """
        request = _run_request(process, timeout, clear=True, others_go_on=False)
        return Stream(self, request | {"out": "lines", "silence": silence})

    def start(self, process: Process) -> tuple[int, str]:
        """Start it and goes on; its id, or 0 and why it cannot be."""
        facts = self.ask(process.request("start"))
        return facts.get("pid", 0), facts.get("reason", "")

    def status(self, pid: int) -> int | None:
        """Return the wait status of one that was started; None while it runs."""
        found: int | None = self.ask({"do": "status", "pid": pid}).get("status")
        return found

    def end(self, pid: int, seconds: float, number: int = signal.SIGTERM) -> int | None:
        """Send a signal, if it is not 0, and waits; None if it has not ended by then."""
        request = {"do": "end", "pid": pid, "signal": int(number), "seconds": seconds}
        found: int | None = self.ask(request).get("status")
        return found

    def clear(self) -> int:
        """Kill all that has been started and is still there; how many there were."""
        return int(self.ask({"do": "clear"}).get("left", 0))


def _run_request(
    process: Process, timeout: float, *, clear: bool, others_go_on: bool
) -> dict[str, Any]:
    return process.request("run") | {
        "timeout": timeout,
        "silence": math.inf,
        "clear": clear,
        "others_go_on": others_go_on,
        "metric": None,
        "announce": False,
    }
