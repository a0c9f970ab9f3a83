"""Runs lockwright-torture under one lock and brings back what it found."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.run.process_runner import Ending, Process, ProcessRunner
from lockwright.run.record import describe_status
from lockwright.run.tools import Line

GRACE = 60.0
"""Seconds beyond what it was asked for after which a run is killed. It ends what hangs itself, so
this is for a machine that is much too busy, and for faults of its own."""


@dataclass(frozen=True)
class Orders:
    """What all runs of a command have in common."""

    seed: int
    patience: float
    phase: int | None = None
    only: Sequence[str] = ()
    without: Sequence[str] = ()


@dataclass(frozen=True)
class Finding:
    """How one run ended.

    failure: None if the lock stood it. state: what was seen when it failed.
    """

    seconds: float
    final: Line | None = None
    failure: Line | None = None
    state: str = ""
    phases: list[Line] = field(default_factory=list)


def torture(
    library: Path,
    environment: Mapping[str, str],
    orders: Orders,
    seconds: float,
    *,
    parks: bool,
    fifo: bool,
    turns: int = 1000,
    on_phase: Callable[[str], None] = lambda what: None,
    emulator: Sequence[str] = (),
) -> Finding:
    """Tortures what is in `library` for so long; nothing of it is left running, whatever happens.

    turns: how many the lock may keep a thread aside. on_phase: is told what begins. emulator: how
    qemu is called, for a library of another processor.
    Raises LockwrightError if another library served the calls.
    """
    # An emulator hands it on: preloaded into itself it would be of the wrong processor.
    preload = (
        {"QEMU_SET_ENV": f"LD_PRELOAD={library}"} if emulator else {"LD_PRELOAD": str(library)}
    )
    limit = seconds + 2 * orders.patience + GRACE
    lines: list[Line] = []
    with ProcessRunner() as runner:
        command = [
            *emulator,
            str(tools.find("lockwright-torture", "torturing")),
            *("--seed", str(orders.seed), "--seconds", f"{seconds:.3f}"),
            *("--patience", f"{orders.patience:g}", "--parent", str(runner.pid)),
            *("--parks", str(int(parks)), "--fifo", str(int(fifo)), "--turns", str(turns)),
        ]
        if orders.phase is not None:
            command += ["--phase", str(orders.phase)]
        for option, words in (("--only", orders.only), ("--without", orders.without)):
            if words:
                command += [option, ",".join(words)]
        running = runner.stream(Process(command, {**environment, **preload}), limit)
        for text in running:
            if (line := tools.parsed(text)) is None:
                continue
            lines.append(line)
            if line.get("kind") == "start":
                _check_origin(library, line)
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
        what = "it did not end, and could not say why"
    elif os.WIFSIGNALED(ending.status):
        what = f"it was {describe_status(ending.status)}"
    else:
        what = f"it ended with {describe_status(ending.status)} before its time"
    where = {"phase": phases[-1].get("number"), "in": phases[-1].get("what")} if phases else {}
    return {"kind": "failure", "check": "crash", "what": what, **where}


def _check_origin(library: Path, line: Line) -> None:
    for call in ("mutex", "cond"):
        origin = Path(str(line.get(call)))
        if origin != library and origin.resolve() != library.resolve():
            raise LockwrightError(
                f"the {call} calls were served by {origin}, not by {library}",
                "unset what else is preloaded (/etc/ld.so.preload)",
            )
