"""One run of a program under a lock, with its server, checks and result."""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Outcome
from lockwright.machine.meters import Meters
from lockwright.run import record
from lockwright.run.process_runner import Ending, Process, ProcessRunner, last_lines

from lockwright_lab.study.program import readers
from lockwright_lab.study.program.entry import OUTPUT, Command, Metric, Program
from lockwright_lab.study.program.placeholders import Placeholders
from lockwright_lab.study.program.progress import Progress

VALUE, LATENCY = "value", "latency"
"""The figures of a run, in the units of the program's metrics."""
CRASHED, WRONG = "crashed", "wrong"
SLOW, HUNG = "slow", "hung"
"""Outcomes of runs that did not end in time: locks were taken until the end, or not."""
UNENDED = (record.TIMEOUT, SLOW, HUNG)
_PORT_IN_USE = "ddress already in use"
_PORTS = 5
"""Number of ports that are tried for a server if other programs take them."""
_MOST_TEXT = 64 << 20
"""Bytes at the end of an output that are searched for a figure."""
_MOST_SIGNAL = 64
_DETAILS = ("user", "system", "voluntary", "involuntary", "others", "status", "meters")
"""What is kept of the end of the measured command: CPU seconds and context switches of all
processes of the run, the share of all processors that other programs used, the wait status, and the
meters."""
_POLL = 0.01
"""Seconds between two tests whether a server is ready."""


class _EndedEarly(Exception):
    """The exception that ends a run early, with its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.ended, outcome.note)
        self.outcome = outcome


@dataclass
class Trial:
    """The conditions of runs, which are made one at a time. folder: a directory for the files of
    runs. processors: those of the run; empty for all. reference: the sums that outputs must have;
    empty to compute them. counters: the file of a counting library, if the run is under one, which
    distinguishes slow from hung runs."""

    processes: ProcessRunner
    folder: Path
    processors: tuple[int, ...] = ()
    reference: Mapping[str, str] = field(default_factory=dict)
    meters: Meters | None = None
    counters: Path | None = None

    def run(self, values: Placeholders) -> Outcome:
        """Make one run; `values.work` is set to its directory. The details have what `_DETAILS`
        names, of the measured command alone, its seconds, and the `sums`, SHA-256 of the outputs
        that must be the same under every lock. Raises LockwrightError for a fault of the machine,
        such as a full disk."""
        for _ in range(_PORTS):
            made = self._run_at_port(values)
            if _PORT_IN_USE not in made.note:
                break
            values.choose_another_port()
        return made

    def _run_at_port(self, values: Placeholders) -> Outcome:
        begin = time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix=directory_prefix(), dir=self.folder))
            # Servers that drop their privileges need access.
            work.chmod(0o755)
        except OSError as error:
            raise LockwrightError(
                f"cannot make a directory in {self.folder}: {error.strerror}", "name another --work"
            ) from error
        try:
            values.work = work
            made = self._run_watched(values)
        except OSError as error:
            raise LockwrightError(
                f"{error.filename or work}: {error.strerror}", "make room, or name another --work"
            ) from error
        finally:
            self.processes.clear()
            shutil.rmtree(work, ignore_errors=True)
        return replace(made, wall=time.monotonic() - begin)

    def _run_watched(self, values: Placeholders) -> Outcome:
        with contextlib.ExitStack() as stack:
            progress = None
            if self.counters is not None:
                progress = stack.enter_context(Progress(self.counters, _limit(values)))
            try:
                return self._run(values)
            except _EndedEarly as ended:
                made = ended.outcome
                if progress is None or made.ended != record.TIMEOUT:
                    return made
                return replace(made, ended=SLOW if progress.is_recent() else HUNG)

    def _run(self, values: Placeholders) -> Outcome:
        program = values.program
        limit = _limit(values)
        for name, text in program.files.items():
            file = values.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(values.fill(text))
        self._run_required(values, program.before, "before", limit)
        try:
            with self._server(values):
                if program.server:
                    self._run_required(values, program.server.load, "server.load", limit)
                if program.warmup:
                    for _ in range(program.warmup.runs):
                        command = program.warmup.command or program.command
                        self._run_required(values, command, "warmup", limit)
                made = self._measured(values, limit)
                if not made.finished and program.server:
                    server = self._process(values, program.server.command, "server")
                    lines = _last_lines(server) or "nothing"
                    note = f"{made.note}; the server's last lines: {lines}"
                    made = replace(made, note=note)
                if made.ended == record.TIMEOUT:
                    # The server was killed with it, which is not a crash of the server.
                    raise _EndedEarly(made)
                if made.finished:
                    self._run_required(values, program.check.command, "check.command", limit, WRONG)
            if sums := _sums(values, program):
                made = replace(made, details={**made.details, "sums": sums})
                self._compare(program, made)
        finally:
            # The command may remove files outside the directory of the run.
            with contextlib.suppress(_EndedEarly):
                self._run_required(values, program.after, "after", limit)
        return made

    def _process(self, values: Placeholders, command: Command, name: str) -> Process:
        environment, words = values.environment(command), values.words(command)
        out, err = values.work / f".{name}.out", values.work / f".{name}.err"
        return Process(words, environment, values.work, out, err, self.processors)

    def _run_one(self, process: Process, limit: float, meters: Meters | None = None) -> Ending:
        """Run a process. Processes that it leaves running, such as a daemon, are not ended."""
        return self.processes.run(process, limit, clear=False, others_running=True, meters=meters)

    def _run_required(
        self,
        values: Placeholders,
        command: Command,
        name: str,
        limit: float,
        outcome: str = record.FAILED,
    ) -> None:
        """Run an auxiliary command, which must succeed; otherwise the run ends."""
        if not command:
            return
        process = self._process(values, command, name)
        ending = self._run_one(process, limit)
        if problem := _problem(ending, process, 0):
            kind, note = problem
            if kind == record.TIMEOUT:
                outcome = kind
            raise _EndedEarly(Outcome(outcome, note=f"its command '{name}' {note}"))

    @contextlib.contextmanager
    def _server(self, values: Placeholders) -> Iterator[None]:
        """Run the server: it is ready inside the context, and must end without error after it."""
        server = values.program.server
        if server is None:
            yield
            return
        process = self._process(values, server.command, "server")
        pid, reason = self.processes.start(process)
        if not pid:
            note = f"the server cannot be started: {reason}"
            raise _EndedEarly(Outcome(record.FAILED, note=note))
        self._await_server(values, pid, process)
        yield
        status = self.processes.status(pid)
        if status is None:
            if server.stop:
                self._run_required(values, server.stop, "server.stop", server.seconds)
            status = self.processes.end(pid, server.seconds, 0 if server.stop else 15)
            if status is None:
                note = f"the server does not end within {server.seconds:g} s"
                raise _EndedEarly(Outcome(record.TIMEOUT, note=note))
            # Ended by SIGTERM, or by the status that a shell returns for that.
            if status in (0, 15, (128 + 15) << 8):
                return
        raise _EndedEarly(_server_fault("the server ended with", status, process))

    def _await_server(self, values: Placeholders, pid: int, process: Process) -> None:
        server = values.program.server
        assert server is not None
        end = time.monotonic() + server.seconds
        while time.monotonic() < end:
            if self._ready(values, process):
                return
            status = self.processes.status(pid)
            if status is not None:
                raise _EndedEarly(_server_fault("the server ended at once,", status, process))
            time.sleep(_POLL)
        note = f"the server is not ready within {server.seconds:g} s: {_last_lines(process)}"
        raise _EndedEarly(Outcome(record.TIMEOUT, note=note.rstrip(": ")))

    def _ready(self, values: Placeholders, process: Process) -> bool:
        server = values.program.server
        assert server is not None
        if server.ready_command:
            process = self._process(values, server.ready_command, "ready")
            return self._run_one(process, server.seconds).problem() is None
        if server.ready_pattern:
            texts = _texts(process)
            return any(re.search(server.ready_pattern, text, re.MULTILINE) for text in texts)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", values.port), 1):
            return True
        return False

    def _measured(self, values: Placeholders, limit: float) -> Outcome:
        program = values.program
        process = self._process(values, program.command, "command")
        ending = self._run_one(process, limit, self.meters)
        details = {name: getattr(ending, name) for name in _DETAILS}
        made = Outcome(details={"command_seconds": ending.wall, **details})
        if problem := _problem(ending, process, program.check.status):
            outcome, note = problem
            return replace(made, ended=outcome, note=note)
        texts = _texts(process)
        if note := _mismatch(program, texts):
            return replace(made, ended=WRONG, note=note)
        metrics = {VALUE: program.metric, LATENCY: program.latency}
        read = {
            name: _value(metric, values, texts, ending.wall)
            for name, metric in metrics.items()
            if metric is not None
        }
        figures = {name: each for name, each in read.items() if each is not None}
        if VALUE not in figures:
            note = "its figure is not in what it printed"
            return replace(made, ended=record.NO_METRIC, note=note)
        return replace(made, figures=figures)

    def _compare(self, program: Program, made: Outcome) -> None:
        if not made.finished:
            return
        expected = {**self.reference, **program.check.sha256}
        for name, digest in made.details["sums"].items():
            if digest != expected.get(name, digest):
                note = f"{name} is not what it should be"
                raise _EndedEarly(replace(made, ended=WRONG, note=note, figures={}))


def _limit(values: Placeholders) -> float:
    return values.program.timeout * max(1.0, values.scale)


def _server_fault(what: str, status: int, process: Process) -> Outcome:
    """Return the outcome of a run whose server ended with a wait status that is an error."""
    note = f"{what} {record.describe_status(status)}: {_last_lines(process)}".rstrip(": ")
    ended = CRASHED if status & 0x7F else record.FAILED
    return Outcome(ended, note=note, details={"status": status})


def _problem(ending: Ending, process: Process, expected_status: int) -> tuple[str, str] | None:
    """Return outcome and reason if a process ended in a fault; otherwise None."""
    what = ending.problem(_text(Path(process.err)) or _text(Path(process.out)), expected_status)
    if what is None:
        return None
    if ending.outcome == "timeout":
        return record.TIMEOUT, what
    # A shell returns 128 and the signal's number for a command that a signal ended.
    status = ending.status if ending.outcome == "exited" else None
    signalled = status is not None and (status & 0x7F or 128 < status >> 8 <= 128 + _MOST_SIGNAL)
    return CRASHED if signalled else record.FAILED, what


def _mismatch(program: Program, texts: list[str]) -> str:
    for pattern in program.check.matches:
        if not any(re.search(pattern, text, re.MULTILINE) for text in texts):
            return f"its output has no match of '{pattern}'"
    for pattern in program.check.absent:
        for text in texts:
            if found := re.search(pattern, text, re.MULTILINE):
                return f"its output has '{found.group()[:80]}' in it"
    return ""


def _value(metric: Metric, values: Placeholders, texts: list[str], wall: float) -> float | None:
    if metric.reader == "wall":
        return wall
    if metric.source != OUTPUT:
        texts = [_text(Path(values.fill(metric.source)))]
    readings: list[str] = []
    for text in texts:
        if metric.reader == "regex":
            readings = readers.by_pattern(metric.pattern, [text])
        elif metric.reader == "json":
            readings = readers.by_path(metric.path, text)
        else:
            readings = readers.READERS[metric.reader].find(text)
        if readings:
            break
    return readers.select_number(readings, metric.skip, metric.take)


def _sums(values: Placeholders, program: Program) -> dict[str, str]:
    """Return the SHA-256 of each output to check; 'missing' for one that does not exist."""
    sums = {}
    for name in (*program.check.same, *program.check.sha256):
        path = values.work / ".command.out" if name == OUTPUT else Path(values.fill(name))
        path = values.work / path
        if path.is_file():
            with path.open("rb") as file:
                sums[name] = hashlib.file_digest(file, "sha256").hexdigest()
        else:
            sums[name] = "missing"
    return sums


def _text(path: Path) -> str:
    """Return the end of a file as text; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _MOST_TEXT))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _texts(process: Process) -> list[str]:
    return [_text(Path(sink)) for sink in (process.out, process.err)]


def _last_lines(process: Process) -> str:
    """Return the last five lines of the error output; the last one seldom gives the reason."""
    return last_lines(_text(Path(process.err)), 5)


def directory_prefix() -> str:
    """Return the prefix of run directories, which has the machine and the process."""
    return f"run-{platform.node()}-{os.getpid()}-"


def clear_abandoned(folder: Path) -> None:
    """Remove directories of runs whose process on this machine was killed."""
    prefix = f"run-{platform.node()}-"
    for abandoned in folder.glob(f"{prefix}*"):
        pid = abandoned.name.removeprefix(prefix).partition("-")[0]
        if not Path("/proc", pid).exists():
            shutil.rmtree(abandoned, ignore_errors=True)
