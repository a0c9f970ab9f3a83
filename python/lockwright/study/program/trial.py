"""One run of a program under a lock: everything around it, and what came of it."""

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
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.machine.meters import Meters
from lockwright.run import record
from lockwright.run.process_runner import Ending, Process, ProcessRunner, last_lines
from lockwright.study.program import readers
from lockwright.study.program.entry import OUTPUT, Command, Metric, Program
from lockwright.study.program.places import Places
from lockwright.study.program.progress import Progress

CRASHED, WRONG, LEFT_OUT = "crashed", "wrong", "left out"
SLOW, HUNG = "slow", "hung"
"""Of runs that did not end in time: locks were taken to the end, or were not."""
UNENDED = (record.TIMEOUT, SLOW, HUNG)
OUTCOMES = (*record.OUTCOMES, CRASHED, WRONG, LEFT_OUT, SLOW, HUNG)
_TAKEN_PORT = "ddress already in use"
_PORTS = 5
"""Ports that a server is given in turn while other programs take them."""
_MOST_TEXT = 64 << 20
"""Bytes at the end of an output in which a figure is looked for."""
_POLL = 0.01
"""Seconds between looks at a server that is about to be ready."""


@dataclass(frozen=True)
class Result:
    """What came of a run.

    outcome: one of OUTCOMES; value: in the metric's unit, None unless finished; latency: likewise.
    wall: seconds of the measured command; elapsed: of everything around it, too. user, system:
    CPU seconds of all processes of the run during the measured command; others: the share of all
    processors that other programs took then; status: a wait status; note: why it is not finished;
    sums: of the outputs that have to be the same under every lock.
    """

    outcome: str
    note: str = ""
    value: float | None = None
    latency: float | None = None
    wall: float = 0.0
    elapsed: float = 0.0
    user: float = 0.0
    system: float = 0.0
    voluntary: int = 0
    involuntary: int = 0
    others: float | None = None
    status: int | None = None
    sums: Mapping[str, str] = field(default_factory=dict)
    meters: Mapping[str, float] = field(default_factory=dict)


class _Ended(Exception):
    """The run is over before its time. The arguments are those of a result."""

    def __init__(self, outcome: str, note: str, **facts: Any) -> None:
        super().__init__(outcome, note)
        self.result = Result(outcome, note, **facts)

    @classmethod
    def of(cls, result: Result) -> "_Ended":
        """With that result."""
        ended = cls(result.outcome, result.note)
        ended.result = result
        return ended


@dataclass
class Trial:
    """Makes runs, one at a time. processors: the run may use these only; all if empty.

    reference: the sums that outputs have to have; empty to learn them. where: a directory for the
    files of runs. counters: the file of the counting library that the run is under, if it is, which
    tells the slow from the hung.
    """

    processes: ProcessRunner
    where: Path
    processors: tuple[int, ...] = ()
    reference: Mapping[str, str] = field(default_factory=dict)
    meters: Meters | None = None
    counters: Path | None = None

    def run(self, places: Places) -> Result:
        """One run; `places.work` is set to its directory. Raises LockwrightError if the machine
        fails it, as a full disk does."""
        for _ in range(_PORTS):
            result = self._run_at_port(places)
            if _TAKEN_PORT not in result.note:
                break
            places.choose_another_port()
        return result

    def _run_at_port(self, places: Places) -> Result:
        begin = time.monotonic()
        try:
            self.where.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix=_prefix(), dir=self.where))
            # Servers that give up their rights have to reach it.
            work.chmod(0o755)
        except OSError as error:
            raise LockwrightError(
                f"cannot make a directory in {self.where}: {error.strerror}", "name another --work"
            ) from error
        try:
            places.work = work
            result = self._run_watched(places)
        except OSError as error:
            raise LockwrightError(
                f"{error.filename or work}: {error.strerror}", "make room, or name another --work"
            ) from error
        finally:
            self.processes.clear()
            shutil.rmtree(work, ignore_errors=True)
        return replace(result, elapsed=time.monotonic() - begin)

    def _run_watched(self, places: Places) -> Result:
        with contextlib.ExitStack() as stack:
            progress = None
            if self.counters is not None:
                progress = stack.enter_context(Progress(self.counters, _limit(places)))
            try:
                return self._run(places)
            except _Ended as ended:
                result = ended.result
                if progress is None or result.outcome != record.TIMEOUT:
                    return result
                return replace(result, outcome=SLOW if progress.is_recent() else HUNG)

    def _run(self, places: Places) -> Result:
        program = places.program
        limit = _limit(places)
        for name, text in program.files.items():
            file = places.work / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(places.fill(text))
        self._must(places, program.before, "before", limit)
        try:
            with self._server(places):
                if program.server:
                    self._must(places, program.server.load, "server.load", limit)
                for _ in range(program.warmups):
                    self._must(places, program.warmup or program.command, "warmup", limit)
                result = self._measured(places, limit)
                if result.outcome != record.FINISHED and program.server:
                    server = self._process(places, program.server.command, "server")
                    words = _last_lines(server) or "nothing"
                    result = replace(
                        result, note=f"{result.note}; the server's last words: {words}"
                    )
                if result.outcome == record.TIMEOUT:
                    # The server was killed with it, and must not look as if it had crashed.
                    raise _Ended.of(result)
                if result.outcome == record.FINISHED:
                    self._must(places, program.check.command, "check.command", limit, WRONG)
            if sums := _sums(places, program):
                result = replace(result, sums=sums)
                self._compare(program, result)
        finally:
            # What it removes may lie outside the directory of the run.
            with contextlib.suppress(_Ended):
                self._must(places, program.after, "after", limit)
        return result

    def _process(self, places: Places, command: Command, name: str) -> Process:
        environment, words = places.environment(command), places.words(command)
        out, err = places.work / f".{name}.out", places.work / f".{name}.err"
        return Process(words, environment, places.work, out, err, self.processors)

    def _run_one(self, process: Process, limit: float, meters: Meters | None = None) -> Ending:
        """What it leaves running goes on, as a server that made itself a daemon."""
        return self.processes.run(process, limit, clear=False, others_go_on=True, meters=meters)

    def _must(
        self,
        places: Places,
        command: Command,
        name: str,
        limit: float,
        outcome: str = record.FAILED,
    ) -> None:
        """A command beside the measured one, which has to succeed."""
        if not command:
            return
        process = self._process(places, command, name)
        ending = self._run_one(process, limit)
        if problem := _problem(ending, process, 0):
            kind, note = problem
            raise _Ended(
                kind if kind == record.TIMEOUT else outcome, f"its command '{name}' {note}"
            )

    @contextlib.contextmanager
    def _server(self, places: Places) -> Iterator[None]:
        """The server is ready inside, and has to end well after that."""
        server = places.program.server
        if server is None:
            yield
            return
        process = self._process(places, server.command, "server")
        pid, reason = self.processes.start(process)
        if not pid:
            raise _Ended(record.FAILED, f"the server cannot be started: {reason}")
        self._await(places, pid, process)
        yield
        status = self.processes.status(pid)
        if status is None:
            if server.stop:
                self._must(places, server.stop, "server.stop", server.seconds)
            status = self.processes.end(pid, server.seconds, 0 if server.stop else 15)
            if status is None:
                raise _Ended(record.TIMEOUT, f"the server does not end within {server.seconds:g} s")
            # Ended by the signal that asks for it, or as a shell tells that.
            if status in (0, 15, (128 + 15) << 8):
                return
        what = record.describe_status(status)
        raise _Ended(
            CRASHED if status & 0x7F else record.FAILED,
            f"the server ended with {what}: {_last_lines(process)}".rstrip(": "),
            status=status,
        )

    def _await(self, places: Places, pid: int, process: Process) -> None:
        server = places.program.server
        assert server is not None
        end = time.monotonic() + server.seconds
        while time.monotonic() < end:
            if self._ready(places, process):
                return
            status = self.processes.status(pid)
            if status is not None:
                what = record.describe_status(status)
                raise _Ended(
                    CRASHED if status & 0x7F else record.FAILED,
                    f"the server ended at once, {what}: {_last_lines(process)}".rstrip(": "),
                    status=status,
                )
            time.sleep(_POLL)
        what = f"the server is not ready within {server.seconds:g} s"
        raise _Ended(record.TIMEOUT, f"{what}: {_last_lines(process)}".rstrip(": "))

    def _ready(self, places: Places, process: Process) -> bool:
        server = places.program.server
        assert server is not None
        if server.ready_command:
            process = self._process(places, server.ready_command, "ready")
            return self._run_one(process, server.seconds).problem() is None
        if server.ready_pattern:
            texts = _texts(process)
            return any(re.search(server.ready_pattern, text, re.MULTILINE) for text in texts)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", places.port), 1):
            return True
        return False

    def _measured(self, places: Places, limit: float) -> Result:
        program = places.program
        process = self._process(places, program.command, "command")
        ending = self._run_one(process, limit, self.meters)
        names = ("wall", "user", "system", "voluntary", "involuntary", "others", "status", "meters")
        result = Result(record.FINISHED, **{name: getattr(ending, name) for name in names})
        note = ""
        problem = _problem(ending, process, program.check.status)
        if problem:
            return _ended(result, *problem)
        texts = _texts(process)
        if note := _mismatch(program, texts):
            return _ended(result, WRONG, note)
        value = _value(program.metric, places, texts, result.wall)
        if value is None:
            return _ended(result, record.NO_METRIC, "its figure is not in what it printed")
        latency = None
        if program.latency is not None:
            latency = _value(program.latency, places, texts, result.wall)
        return replace(result, value=value, latency=latency)

    def _compare(self, program: Program, result: Result) -> None:
        if result.outcome != record.FINISHED:
            return
        wanted = {**self.reference, **program.check.sha256}
        for name, found in result.sums.items():
            if found != wanted.get(name, found):
                facts = {
                    k: v for k, v in vars(result).items() if k not in ("outcome", "note", "value")
                }
                raise _Ended(WRONG, f"{name} is not what it should be", **facts)


def _limit(places: Places) -> float:
    """Seconds that the measured command may take."""
    return places.program.timeout * max(1.0, places.scale)


def _ended(result: Result, outcome: str, note: str) -> Result:
    return replace(result, outcome=outcome, note=note)


def _problem(ending: Ending, process: Process, wanted: int) -> tuple[str, str] | None:
    """Outcome and reason of a process that did not end as it has to; None if it did."""
    what = ending.problem(_text(Path(process.err)), wanted)
    if what is None:
        return None
    if ending.outcome == "timeout":
        return record.TIMEOUT, what
    # A shell tells the death of what it ran as a status above 128.
    status = ending.status if ending.outcome == "exited" else None
    signalled = status is not None and (status & 0x7F or status >> 8 > 128)
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


def _value(metric: Metric, places: Places, texts: list[str], wall: float) -> float | None:
    if metric.way == "wall":
        return wall
    if metric.source != OUTPUT:
        texts = [_text(Path(places.fill(metric.source)))]
    values: list[str] = []
    for text in texts:
        if metric.way == "regex":
            values = readers.by_pattern(metric.pattern, [text])
        elif metric.way == "json":
            values = readers.by_path(metric.pattern, text)
        else:
            values = readers.READERS[metric.way].find(text)
        if values:
            break
    return readers.one_of(values, metric.skip, metric.take)


def _sums(places: Places, program: Program) -> dict[str, str]:
    """SHA-256 of each output that is asked for; of one that is not there, 'missing'."""
    found = {}
    for name in (*program.check.same, *program.check.sha256):
        path = places.work / ".command.out" if name == OUTPUT else Path(places.fill(name))
        path = places.work / path
        if path.is_file():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        else:
            found[name] = "missing"
    return found


def _text(path: Path) -> str:
    """The end of a file as text; empty where there is none."""
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
    """Servers seldom give the reason for an end in the last line."""
    return last_lines(_text(Path(process.err)), 5)


def _prefix() -> str:
    """Begins the names of our directories: they say on which machine and in which process."""
    return f"run-{platform.node()}-{os.getpid()}-"


def clear_abandoned(where: Path) -> None:
    """Removes directories of runs whose process on this machine was killed."""
    for place in where.glob(f"run-{platform.node()}-*"):
        pid = place.name.removeprefix(f"run-{platform.node()}-").partition("-")[0]
        if not Path("/proc", pid).exists():
            shutil.rmtree(place, ignore_errors=True)
