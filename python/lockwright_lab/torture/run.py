"""One run of lockwright-torture under a lock, and its result."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import preload
from lockwright.run import tools
from lockwright.run.process_runner import Ending, Process, ProcessRunner
from lockwright.run.record import describe_status
from lockwright.run.tools import Line

READERS = "readers"
"""The kind of phase for reader-writer locks."""

GRACE = 60.0
"""Seconds after its planned end at which a run is killed. lockwright-torture ends phases that hang
itself, so this is for an overloaded machine and for faults of that program."""


@dataclass(frozen=True)
class Options:
    """The options that all runs of a command share. patience: seconds without progress after which
    a phase counts as hung."""

    seed: int
    patience: float
    phase: int | None = None
    only: Sequence[str] = ()
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Finding:
    """The result of one run. failure: None if the lock passed; state: of the threads then."""

    seconds: float
    final: Line | None = None
    failure: Line | None = None
    state: str = ""
    phases: list[Line] = field(default_factory=list)


def torture(
    library: Path,
    environment: Mapping[str, str],
    options: Options,
    seconds: float,
    *,
    parks: bool,
    fifo: bool,
    handovers_aside: int = 1000,
    on_phase: Callable[[str], None] = lambda what: None,
    emulator: Sequence[str] = (),
) -> Finding:
    """Torture the lock in `library` for `seconds`, and leave no process running. handovers_aside:
    number of handovers for which the lock may leave a thread in the passive set. on_phase: called
    with the description of each phase. emulator: the words that call qemu, for a library of another
    processor. Raises LockwrightError if another library served the calls."""
    # qemu passes it to the program: it cannot load a library of another processor itself.
    set_up = (
        {**environment, "QEMU_SET_ENV": f"LD_PRELOAD={library}"}
        if emulator
        else preload(library, environment)
    )
    limit = seconds + 2 * options.patience + GRACE
    lines: list[Line] = []
    with ProcessRunner() as runner:
        command = [
            *emulator,
            str(tools.find("lockwright-torture", "torturing")),
            *("--seed", str(options.seed), "--seconds", f"{seconds:.3f}"),
            *("--patience", f"{options.patience:g}", "--parent", str(runner.pid)),
            *("--parks", str(int(parks)), "--fifo", str(int(fifo))),
            *("--turns", str(handovers_aside)),
        ]
        if options.phase is not None:
            command += ["--phase", str(options.phase)]
        for option, words in (("--only", options.only), ("--without", options.without)):
            if words:
                command += [option, ",".join(words)]
        running = runner.stream(Process(command, set_up), limit)
        for text in running:
            if (line := tools.parsed(text)) is None:
                continue
            lines.append(line)
            if line.get("kind") == "start":
                _check_origin(library, line, options)
            if line.get("kind") == "phase":
                on_phase(str(line.get("what")))
    ending = running.ending
    final = next((line for line in lines if line.get("kind") == "final"), None)
    failure = next((line for line in lines if line.get("kind") == "failure"), None)
    phases = [line for line in lines if line.get("kind") == "phase"]
    if failure is None and (ending.problem() is not None or final is None):
        failure = _unexplained(ending, phases)
    return Finding(ending.wall, final, failure, ending.errors, phases)


def _unexplained(ending: Ending, phases: Sequence[Line]) -> Line:
    if ending.status is None or ending.outcome == "timeout":
        what = f"it reported nothing, and was killed after {ending.wall:.0f} s"
    elif os.WIFSIGNALED(ending.status):
        what = f"it was {describe_status(ending.status)}"
    else:
        what = f"it ended with {describe_status(ending.status)} before its time"
    where = {"phase": phases[-1].get("number"), "in": phases[-1].get("what")} if phases else {}
    return {"kind": "failure", "check": "crash", "what": what, **where}


def _check_origin(library: Path, line: Line, options: Options) -> None:
    for call in ("rwlock",) if READERS in options.only else ("mutex", "cond"):
        origin = Path(str(line.get(call)))
        if origin != library and origin.resolve() != library.resolve():
            raise LockwrightError(
                f"the {call} calls were served by {origin}, not by {library}",
                "remove other preloaded libraries (/etc/ld.so.preload)",
            )
