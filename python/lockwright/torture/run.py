"""Runs lockwright-torture under one lock and brings back what it found."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lockwright.base.errors import LockwrightError
from lockwright.run import tools

Line = Mapping[str, Any]
"""One JSON object that the program printed."""

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
    command = [
        *emulator,
        str(tools.find("lockwright-torture", "torturing")),
        *("--seed", str(orders.seed), "--seconds", f"{seconds:.3f}"),
        *("--patience", f"{orders.patience:g}", "--parent", str(os.getpid())),
        *("--parks", str(int(parks)), "--fifo", str(int(fifo)), "--turns", str(turns)),
    ]
    if orders.phase is not None:
        command += ["--phase", str(orders.phase)]
    for option, words in (("--only", orders.only), ("--without", orders.without)):
        if words:
            command += [option, ",".join(words)]
    started = time.monotonic()
    deadline = started + seconds + 2 * orders.patience + GRACE
    lines: list[Line] = []
    with tempfile.TemporaryFile("w+", errors="replace") as complaints:
        # A session of its own, so that whoever runs us does not see it stop, and Ctrl-C is ours.
        with subprocess.Popen(
            command,
            env={**environment, **preload},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
        ) as process:
            try:
                assert process.stdout is not None
                for line in _lines(process.stdout, deadline):
                    lines.append(line)
                    if line.get("kind") == "start":
                        _check_origin(library, line)
                    if line.get("kind") == "phase":
                        on_phase(str(line.get("what")))
                in_time = time.monotonic() < deadline
                if in_time:
                    process.wait(max(1.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                in_time = False
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        complaints.seek(0)
        state = complaints.read()
    final = next((line for line in lines if line.get("kind") == "final"), None)
    failure = next((line for line in lines if line.get("kind") == "failure"), None)
    phases = [line for line in lines if line.get("kind") == "phase"]
    if failure is None and (process.returncode != 0 or final is None):
        failure = _unexplained(process.returncode, in_time, phases)
    return Finding(time.monotonic() - started, final, failure, state, phases)


def _unexplained(status: int, in_time: bool, phases: Sequence[Line]) -> Line:
    if not in_time:
        what = "it did not end, and could not say why"
    elif status < 0:
        what = f"it was killed by {signal.Signals(-status).name}"
    else:
        what = f"it ended with status {status} before its time"
    where = {"phase": phases[-1].get("number"), "in": phases[-1].get("what")} if phases else {}
    return {"kind": "failure", "check": "crash", "what": what, **where}


def _lines(pipe: IO[bytes], deadline: float) -> Iterator[Line]:
    """Each line as it comes, until the pipe is closed or the time is up."""
    handle = pipe.fileno()
    rest = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([handle], [], [], min(left, 1.0))[0]:
            continue
        some = os.read(handle, 65536)
        if not some:
            return
        *whole, rest = (rest + some).split(b"\n")
        for text in whole:
            # What was killed may have been cut in the middle of a line.
            with contextlib.suppress(ValueError):
                value = json.loads(text)
                if isinstance(value, dict):
                    yield value


def _check_origin(library: Path, line: Line) -> None:
    for call in ("mutex", "cond"):
        origin = Path(str(line.get(call)))
        if origin != library and origin.resolve() != library.resolve():
            raise LockwrightError(
                f"the {call} calls were served by {origin}, not by {library}",
                "unset what else is preloaded (/etc/ld.so.preload)",
            )
