"""Starts processes, times them, and finds and kills all of their descendants.

Used by the supervisor, with the standard library only. The supervisor is a child subreaper
(prctl(2)): a descendant whose parent has died becomes its child, even if it left the process group,
so all of them are found by following parent process ids.
"""

import contextlib
import ctypes
import fcntl
import json
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_MOST_OUTPUT = 1 << 30
"""Limit on a program's output in bytes, which may be held in memory."""
_TICK = 1.0
"""Seconds between checks on a running program: rare, because each takes CPU time from it."""
_CLEARING = 10.0
"""Seconds for killed processes to disappear (one may hang in the kernel)."""


class Usage:
    """Sums of resource usage over processes that were waited for."""

    def __init__(self) -> None:
        self.user = self.system = 0.0
        self.voluntary = self.involuntary = self.faults = 0
        self.ended: dict[int, int] = {}
        """Wait status of each process that was waited for."""

    def add(self, usage: resource.struct_rusage) -> None:
        self.user += usage.ru_utime
        self.system += usage.ru_stime
        self.voluntary += usage.ru_nvcsw
        self.involuntary += usage.ru_nivcsw
        self.faults += usage.ru_minflt + usage.ru_majflt


class Nowhere:
    """A destination of a program's output that discards it."""

    def __init__(self) -> None:
        self.handle = os.open(os.devnull, os.O_WRONLY)

    def size(self) -> int:
        """Return the bytes stored."""
        return os.fstat(self.handle).st_size

    def close(self) -> None:
        os.close(self.handle)


class File(Nowhere):
    """A file that takes a program's output."""

    def __init__(self, path: str) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)


class Memory(Nowhere):
    """A file in memory that takes a program's output."""

    def __init__(self, name: str) -> None:
        self.handle = os.memfd_create(name)
        # A program that reopens /dev/stdout must not overwrite earlier output.
        fcntl.fcntl(self.handle, fcntl.F_SETFL, os.O_APPEND)

    def text(self, most: int = _MOST_OUTPUT * 2) -> str:
        """Return the last `most` bytes; invalid UTF-8 is replaced."""
        size = self.size()
        data = os.pread(self.handle, size, max(0, size - most))
        return data.decode(errors="replace")


class Lines(Nowhere):
    """A pipe whose lines are announced as they come; an unfinished last line is dropped."""

    def __init__(self) -> None:
        self.source, self.handle = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.source, False)
        self._rest = b""

    def forward(self) -> None:
        """Announce the lines that have arrived since the last call."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.source, 1 << 16):
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in lines:
                    announce("line", text=line.decode(errors="replace"))

    def close(self) -> None:
        super().close()
        os.close(self.source)


def announce(event: str, **more: str) -> None:
    """Write an event to standard output. If its reader has died, standard input ends."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps({"event": event, **more}).encode() + b"\n")


def cpu_times() -> tuple[int, int]:
    """Return (busy, all) CPU time of the machine since boot in clock ticks; steal time is busy."""
    fields = Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields)
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def descendants() -> list[int]:
    """Return the process ids of all descendants that have not been waited for, except zombies."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command name may contain a parenthesis: split after the last one.
            state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != b"Z":
            children.setdefault(int(parent), []).append(int(entry.name))
    pids: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        pids += below
        queue += below
    return pids


def _stop() -> None:
    """Stop every descendant, parents first, so that none of them sees a child stopped."""
    stopped: set[int] = set()
    while running := [pid for pid in descendants() if pid not in stopped]:
        _send(running, signal.SIGSTOP)
        stopped.update(running)


def _continue() -> None:
    """Continue every descendant, children first."""
    _send(reversed(descendants()), signal.SIGCONT)


def _send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def name_of(pid: int) -> str:
    """Return the kernel's name of the program of a process; "" after the process is reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode(errors="replace")


def reap(usage: Usage, watched: int = -1) -> tuple[bool, int | None]:
    """Wait for all children that have ended. Returns whether others remain, and the wait status of
    `watched` if it has ended."""
    status = None
    try:
        while True:
            pid, ended, spent = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return True, status
            usage.add(spent)
            usage.ended[pid] = ended
            if pid == watched:
                status = ended
    except ChildProcessError:
        return False, status


def clear(usage: Usage, watched: int = -1) -> tuple[int, int | None]:
    """Kill every descendant. Returns their number, and the wait status of `watched`."""
    remain, status = reap(usage, watched)
    if not remain:
        # The usual case, without a search through all processes of the machine.
        return 0, status
    deadline = time.monotonic() + _CLEARING
    killed: set[int] = set()
    while time.monotonic() < deadline:
        living = descendants()
        _send(living, signal.SIGKILL)
        killed.update(living)
        # A process whose main thread has died appears dead while its other threads still run.
        remain, ended = reap(usage, watched)
        status = ended if status is None else status
        if not living and not remain:
            break
        time.sleep(0.005)
    return len(killed), status


def spawn(
    program: str, argv: list[str], environment: dict[str, str], out: Nowhere, err: Nowhere
) -> int:
    """Start a process in its own session, and return its id."""
    null = os.open(os.devnull, os.O_RDONLY)
    try:
        return os.posix_spawn(
            program,
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, out.handle, 1),
                (os.POSIX_SPAWN_DUP2, err.handle, 2),
            ],
            setsid=True,
            setsigmask=[],
            # exec would pass on the signals that the supervisor or the interpreter ignores.
            setsigdef=[
                signal.SIGPIPE,
                signal.SIGXFSZ,
                signal.SIGINT,
                signal.SIGTERM,
                signal.SIGHUP,
            ],
        )
    finally:
        os.close(null)


def run(
    program: str,
    argv: list[str],
    environment: dict[str, str],
    timeout: float,
    out: Nowhere,
    err: Nowhere,
    silence: float,
    usage: Usage,
    await_start: Callable[[], bool] | None = None,
    pause: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Run one process to its end; descendants that outlive it are left alone.

    timeout: limit in seconds; silence: seconds for which it may print no line. usage: receives its
    resource usage. await_start: called right before the start, after the event `ready`; returns
    False to abort. The event `ended` follows the end. pause: all descendants are stopped that many
    seconds after the start, for that many.

    Times are in seconds, `others` is a share of all CPUs in 0..1 (null for a run that was too
    short), `status` a wait status, `name` the kernel's last name of the program of `pid`.
    """
    if await_start is not None:
        announce("ready")
        if not await_start():
            return {"outcome": "aborted"}
    busy, total = cpu_times()
    start = time.monotonic()
    try:
        child = spawn(program, argv, environment, out, err)
    except OSError as error:
        return {"outcome": "unstartable", "reason": error.strerror or str(error)}
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    lines = out if isinstance(out, Lines) else None
    if lines is not None:
        poll.register(lines.source, select.POLLIN)
    outcome, status, last_output = "exited", None, start
    turns = [] if pause is None else [(start + pause[0], _stop), (start + sum(pause), _continue)]
    try:
        while True:
            while turns and turns[0][0] <= time.monotonic():
                turns.pop(0)[1]()
            next_turn = turns[0][0] if turns else math.inf
            remaining = min(start + timeout, last_output + silence, next_turn) - time.monotonic()
            ready = {fd for fd, _ in poll.poll(max(0.0, min(_TICK, remaining)) * 1000)}
            end = time.monotonic()
            if lines is not None and lines.source in ready:
                last_output = end
                lines.forward()
            if handle in ready:
                break
            if 0 in ready:
                outcome = "aborted"
                break
            if end - start >= timeout:
                outcome = "timeout"
                break
            if end - last_output >= silence:
                outcome = "silent"
                break
            if err.size() + out.size() > _MOST_OUTPUT:
                outcome = "flood"
                break
            _, status = reap(usage, child)
            if status is not None:
                break
    finally:
        os.close(handle)
    busy_end, total_end = cpu_times()
    name = name_of(child)
    if await_start is not None and outcome != "aborted":
        announce("ended")
    if outcome == "exited":
        _, ended = reap(usage, child)
        status = ended if status is None else status
        left = 0
    else:
        left, status = clear(usage, child)
    ticks = os.sysconf("SC_CLK_TCK")
    elapsed = total_end - total
    own = (usage.user + usage.system) * ticks
    others = max(0.0, busy_end - busy - own) / elapsed if elapsed >= 0.1 * ticks else None
    return {
        "outcome": outcome,
        "wall": end - start,
        "user": usage.user,
        "system": usage.system,
        "voluntary": usage.voluntary,
        "involuntary": usage.involuntary,
        "faults": usage.faults,
        "others": others,
        "status": status,
        "pid": child,
        "name": name,
        "left": left,
    }


def become_subreaper() -> None:
    """Make orphaned descendants children of this process, and ignore the stop signals: the end of
    standard input ends it instead."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("no child subreaper")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
