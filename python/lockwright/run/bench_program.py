"""Runs a measuring program under one lock and returns its output."""

import atexit
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.machine.meters import Meters
from lockwright.preload import counters, locks, other_libraries
from lockwright.preload.counters import Counts
from lockwright.preload.locks import BASELINE, preload
from lockwright.preload.other_libraries import OtherLibrary
from lockwright.run import tools
from lockwright.run.process_runner import Ending, Process, ProcessRunner, last_lines
from lockwright.run.record import describe_status
from lockwright.run.tools import Line

LIBC = other_libraries.LIBC
"""The C library's own mutex without a preloaded library: the reference of every ratio."""


PROBES = frozenset(
    (
        *("accesses", "calibrate", "data", "kernel", "park", "pause", "preempt", "sleep"),
        *("transfer", "uncontended"),
    )
)
"""The measurements of lockwright-calibrate; lockwright-bench has the workloads."""


def program(workload: str = "") -> Path:
    """Return the absolute path of the program that has the workload, by default lockwright-bench.
    Raises LockwrightError if it was not built."""
    return tools.find(f"lockwright-{'calibrate' if workload in PROBES else 'bench'}", "measuring")


@dataclass(frozen=True)
class Subject:
    """A mutex to measure: a lock with its libraries, the C library's, or another library's. source:
    the registry of a lock. direct: run a workload that is compiled with the lock's header, without
    any library."""

    name: str
    plain: Path | None = None
    source: locks.Registry | None = None
    lock: locks.Lock | None = None
    is_other_library: bool = False
    direct: bool = False

    @property
    def counting(self) -> Path | None:
        """The library that counts, which only locks have. Raises LockwrightError if it is not
        built."""
        return self.source.path_of(self.name, counting=True) if self.source else None


def subjects(
    names: str | None, default: Sequence[str] | None, others: Sequence[OtherLibrary] = ()
) -> list[Subject]:
    """Return the subjects to measure: `libc`, then the locks, then the other libraries.

    names: comma-separated, `all`, or None for `default` (None: all). Raises LockwrightError for an
    unknown name, and if no libraries are found.
    """
    other_subjects = [Subject(each.name, each.path, is_other_library=True) for each in others]
    reference = Subject(LIBC)
    chosen_names = [word.strip() for word in names.split(",") if word.strip()] if names else None
    if chosen_names == [LIBC]:
        return [reference, *other_subjects]
    known = locks.registry()
    if chosen_names == ["all"] or (chosen_names is None and default is None):
        chosen_names = known.names
    elif chosen_names is None:
        chosen_names = list(default or [])
    chosen = [reference]
    for name in dict.fromkeys(chosen_names):
        if name == LIBC:
            continue
        source = _source(name, known)
        chosen.append(Subject(name, source.path_of(name), source, source.find(name)))
    return chosen + other_subjects


def _source(name: str, known: locks.Registry) -> locks.Registry:
    """Return the registry of a lock: `known`, or that of the locks used only in measurements."""
    folder = known.directory / "bench"
    if name not in known.names and (folder / "locks.json").is_file():
        bench_only = locks.registry(folder)
        if name in bench_only.names:
            return bench_only
    return known


@dataclass(frozen=True)
class Outcome:
    """The result of a run. `seconds` is the wall time of the process.

    failure: the reason of a failure, else "". timed_out: it was killed at its time limit. meters:
    the values read around it, by the keys of lockwright.machine.meters. others: share of all
    processors that other processes used, None if the run was too short.
    """

    lines: list[Line] = field(default_factory=list)
    seconds: float = 0.0
    failure: str = ""
    timed_out: bool = False
    counts: Counts | None = None
    meters: Mapping[str, float] = field(default_factory=dict)
    others: float | None = None

    def line(self, kind: str) -> Line | None:
        """Return the first line of that kind, or None."""
        return next((line for line in self.lines if line.get("kind") == kind), None)


_meters: Meters | None = None


@contextlib.contextmanager
def metered(meters: Meters | None) -> Iterator[None]:
    """Read these meters around every run that starts in the block; None for none."""
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
    prefix: Sequence[str] = (),
) -> Outcome:
    """Run a workload under `subject` for at most `timeout` seconds.

    environment: additional variables, such as parameters of an algorithm. prefix: words before the
    command, such as those of `machine.quota`. Raises LockwrightError if another library served the
    calls.
    """
    command = [str(program(workload)), workload]
    if subject.direct:
        command = [str(tools.find("lockwright-bench-direct", "measuring")), subject.name, workload]
    for name, value in arguments.items():
        command += [f"--{name}", str(value)]
    library = subject.counting if counting else subject.plain
    unwanted = (counters.VARIABLE, locks.METRICS, "LD_PRELOAD")
    variables = {k: v for k, v in os.environ.items() if k not in unwanted} | dict(environment or {})
    if library is not None:
        variables = preload(library, variables)
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(counters.counters_file()) if counting else None
        if path is not None:
            variables[counters.VARIABLE] = str(path)
        meters = None if counting else _meters
        ending = _processes().run(Process([*prefix, *command], variables), timeout, meters=meters)
        counts = None if path is None else counters.read(path)
    outcome = Outcome(
        [line for text in ending.output.splitlines() if (line := tools.parsed(text)) is not None],
        ending.wall,
        _failure(ending),
        ending.outcome == "timeout",
        counts,
        ending.meters,
        ending.others,
    )
    line = outcome.line("measured")
    if ending.reading is not None and line is not None and "began_ns" in line:
        ending.reading.narrow(number(line, "began_ns") / 1e9, number(line, "seconds"))
    _check_origin(subject, library, outcome.lines)
    return outcome


_runner: ProcessRunner | None = None


def _processes() -> ProcessRunner:
    """Return the process runner for all runs of this process."""
    global _runner
    if _runner is None or not _runner.is_open:
        _runner = ProcessRunner()
        atexit.register(_runner.close)
    return _runner


def _failure(ending: Ending) -> str:
    """Return the reason why a run failed; "" if it did not."""
    if ending.outcome == "timeout":
        return f"killed after {ending.limit:g} s"
    status = ending.status
    if ending.outcome == "exited" and status:
        return (last_lines(ending.errors) if os.WIFEXITED(status) else "") or describe_status(
            status
        )
    return ending.problem() or ""


def _origins(lines: Sequence[Line]) -> Iterator[tuple[str, Path]]:
    """Yield the kinds of calls and the libraries that, according to a run, served them."""
    for line in lines:
        for call in ("mutex", "cond"):
            if line.get(call) is not None:
                yield call, Path(str(line[call]))


def _is_same_file(path: Path, library: Path) -> bool:
    return path == library or path.resolve() == library.resolve()


def _check_origin(subject: Subject, library: Path | None, lines: Sequence[Line]) -> None:
    if subject.is_other_library:
        return
    for call, path in _origins(lines):
        if subject.direct and subject.lock is not None and subject.lock.name != BASELINE:
            is_right = str(path) == subject.lock.header
        elif library is None:
            is_right = not path.name.startswith("liblockwright-")
        else:
            is_right = _is_same_file(path, library)
        if not is_right:
            raise LockwrightError(
                f"under '{subject.name}' the {call} calls were served by {path}",
                "remove the other preloaded library (/etc/ld.so.preload)",
            )


def calls_served_by_others(subject: Subject, lines: Sequence[Line]) -> list[str]:
    """Return a sentence for each kind of call that the subject's library does not serve."""
    if not subject.is_other_library or subject.plain is None:
        return []
    return [
        f"{subject.name}: the {call} calls are served by {path}, not by its library."
        for call, path in _origins(lines)
        if not _is_same_file(path, subject.plain)
    ]


def number(line: Line, name: str) -> float:
    """Return a numeric field of a line. Raises LockwrightError if the line lacks it."""
    value = line.get(name)
    if not isinstance(value, (int, float)):
        raise LockwrightError(
            f"the measuring program printed no '{name}'", "build or install Lockwright again"
        )
    return float(value)


def loops_per_us() -> float:
    """Return how many iterations of the busy work take a microsecond, to be measured once for all
    runs of a comparison. Raises LockwrightError if the measurement fails."""
    outcome = run(Subject(LIBC), "calibrate", {}, timeout=30)
    line = outcome.line("result")
    if line is None:
        raise LockwrightError(f"calibration failed: {outcome.failure}", "run it again")
    return number(line, "loops_per_us")
