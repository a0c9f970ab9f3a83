"""Runs the measuring program under one lock and brings back what it printed."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.machine.meters import Meters
from lockwright.preload import counters, locks, peers
from lockwright.preload.counters import Counts
from lockwright.preload.locks import BASELINE
from lockwright.preload.peers import Peer
from lockwright.run import tools

LIBC = peers.LIBC
"""The C library's own mutex, nothing preloaded: every ratio is to it."""

Line = Mapping[str, object]
"""One JSON object that the measuring program printed."""


def program() -> Path:
    """Absolute path of lockwright-bench. Raises LockwrightError if it was not built."""
    return tools.find("lockwright-bench", "measuring")


@dataclass(frozen=True)
class Subject:
    """What is measured: a lock with its libraries, the C library with none, or a peer's library.

    direct: a workload that was compiled with the lock's header is run, without any library.
    """

    name: str
    plain: Path | None = None
    counting: Path | None = None
    lock: locks.Lock | None = None
    peer: bool = False
    direct: bool = False


def subjects(
    names: str | None, default: Sequence[str] | None, others: Sequence[Peer] = ()
) -> list[Subject]:
    """What to measure: `libc`, then the locks, then the peers.

    names: comma-separated, `all`, or None for `default` (None: all). Raises LockwrightError for
    a name that is no lock, and where no libraries are found.
    """
    beside = [Subject(peer.name, peer.path, peer=True) for peer in others]
    reference = Subject(LIBC)
    wanted = [word.strip() for word in names.split(",") if word.strip()] if names else None
    if wanted == [LIBC]:
        return [reference, *beside]
    known = locks.registry()
    if wanted == ["all"] or (wanted is None and default is None):
        wanted = known.names
    elif wanted is None:
        wanted = list(default or [])
    chosen = [reference]
    for name in dict.fromkeys(wanted):
        if name == LIBC:
            continue
        source = _source(name, known)
        chosen.append(
            Subject(
                name,
                source.path_of(name),
                source.path_of(name, counting=True),
                source.find(name),
            )
        )
    return chosen + beside


def _source(name: str, known: locks.Registry) -> locks.Registry:
    """The registry with that lock: `known`, or that of the locks which only measurements use."""
    place = known.directory / "bench"
    if name not in known.names and (place / "locks.json").is_file():
        bench_only = locks.registry(place)
        if name in bench_only.names:
            return bench_only
    return known


@dataclass(frozen=True)
class Outcome:
    """One run. `seconds` is the wall time of the whole process.

    failure: "" if it ended well; otherwise why it did not, in a few words.
    timed_out: it was still running after its time limit and was killed.
    meters: what was read around it, by the keys of lockwright.machine.meters.
    """

    lines: list[Line] = field(default_factory=list)
    seconds: float = 0.0
    failure: str = ""
    timed_out: bool = False
    counts: Counts | None = None
    meters: Mapping[str, float] = field(default_factory=dict)

    def line(self, kind: str) -> Line | None:
        """The first line of that kind, or None where the run did not get that far."""
        return next((line for line in self.lines if line.get("kind") == kind), None)


_meters: Meters | None = None


@contextlib.contextmanager
def metered(meters: Meters | None) -> Iterator[None]:
    """What is read around every run that starts in the block; None for nothing."""
    global _meters
    before, _meters = _meters, meters
    try:
        yield
    finally:
        _meters = before


def run(
    subject: Subject,
    workload: str,
    arguments: Mapping[str, object],
    *,
    timeout: float,
    counting: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Outcome:
    """Runs one workload under `subject` for at most `timeout` seconds.

    environment: variables beside those of this process, such as the numbers of an algorithm.
    Raises LockwrightError if another library than the one meant served the calls: the figures
    would be those of another lock.
    """
    command = [str(program()), workload]
    if subject.direct:
        command = [str(tools.find("lockwright-bench-direct", "measuring")), subject.name, workload]
    for name, value in arguments.items():
        command += [f"--{name}", str(value)]
    library = subject.counting if counting else subject.plain
    unwanted = (counters.VARIABLE, "LD_PRELOAD")
    variables = {k: v for k, v in os.environ.items() if k not in unwanted} | dict(environment or {})
    if library is not None:
        variables["LD_PRELOAD"] = str(library)
    if counting:
        with counters.counters_file() as path:
            variables[counters.VARIABLE] = str(path)
            outcome = replace(_supervise(command, variables, timeout), counts=counters.read(path))
    elif _meters is not None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with _meters.around() as reading:
            outcome = _supervise(command, variables, timeout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        line = outcome.line("measured")
        if line is not None and "began_ns" in line:
            reading.narrow(number(line, "began_ns") / 1e9, number(line, "seconds"))
        if _meters.counters:
            reading.values |= {
                "context_switches": float(
                    after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
                ),
                "page_faults": float(
                    after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
                ),
            }
        outcome = replace(outcome, meters=reading.values)
    else:
        outcome = _supervise(command, variables, timeout)
    _check_origin(subject, library, outcome.lines)
    return outcome


def _supervise(command: list[str], environment: dict[str, str], timeout: float) -> Outcome:
    started = time.monotonic()
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        timed_out = False
        try:
            output, complaints = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            _kill(process)
            output, complaints = process.communicate()
        except BaseException:
            _kill(process)
            raise
    seconds = time.monotonic() - started
    failure = ""
    if timed_out:
        failure = f"killed after {timeout:g} s"
    elif process.returncode < 0:
        failure = f"killed by {signal.Signals(-process.returncode).name}"
    elif process.returncode > 0:
        said = complaints.strip().splitlines()
        failure = said[-1] if said else f"exit status {process.returncode}"
    return Outcome(_parse(output), seconds, failure, timed_out)


def _kill(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _parse(output: str) -> list[Line]:
    lines: list[Line] = []
    for text in output.splitlines():
        # A run that was killed may have been cut in the middle of a line.
        with contextlib.suppress(ValueError):
            value = json.loads(text)
            if isinstance(value, dict):
                lines.append(value)
    return lines


def _origins(lines: Sequence[Line]) -> Iterator[tuple[str, Path]]:
    """Each kind of call whose library a run named, with that library."""
    for line in lines:
        for call in ("mutex", "cond"):
            if line.get(call) is not None:
                yield call, Path(str(line[call]))


def _is(path: Path, library: Path) -> bool:
    return path == library or path.resolve() == library.resolve()


def _check_origin(subject: Subject, library: Path | None, lines: Sequence[Line]) -> None:
    if subject.peer:
        return
    for call, path in _origins(lines):
        if subject.direct and subject.lock is not None and subject.lock.name != BASELINE:
            right = str(path) == subject.lock.header
        elif library is None:
            right = not path.name.startswith("liblockwright-")
        else:
            right = _is(path, library)
        if not right:
            raise LockwrightError(
                f"under '{subject.name}' the {call} calls were served by {path}",
                "unset what else is preloaded (/etc/ld.so.preload)",
            )


def left_alone(subject: Subject, lines: Sequence[Line]) -> list[str]:
    """What a peer's library does not serve, a sentence each; it is measured all the same."""
    if not subject.peer or subject.plain is None:
        return []
    return [
        f"{subject.name}: the {call} calls are served by {path}, not by its library."
        for call, path in _origins(lines)
        if not _is(path, subject.plain)
    ]


def number(line: Line, name: str) -> float:
    """A field of a line as a number. Raises LockwrightError if the line has none."""
    value = line.get(name)
    if not isinstance(value, (int, float)):
        raise LockwrightError(
            f"lockwright-bench printed no '{name}'", "build or install Lockwright again"
        )
    return float(value)


def loops_per_us() -> float:
    """Calibrates the busy work once, for all runs of a comparison."""
    outcome = run(Subject(LIBC), "calibrate", {}, timeout=30)
    line = outcome.line("result")
    if line is None:
        raise LockwrightError(f"calibration failed: {outcome.failure}", "run it again")
    return number(line, "loops_per_us")
