"""A process of its own that starts the measured program, times it, and clears up after it.

It is run as a script, with the standard library only, so that it is small, single-threaded and
starts fast. Requests come on standard input and answers go to standard output, one JSON object a
line. A run that is announced has two lines before its answer: `{"event": "ready"}` right before it
starts, which waits for a line in return, and `{"event": "ended"}` when it has ended. When standard
input ends, whatever the reason (Ctrl-C, `kill -9` of the parent), the program that is running is
killed with all its descendants: nothing stays behind to disturb the next run.

It is a child subreaper (prctl(2)): a descendant whose parent has died becomes its child, also one
that left the process group, so it finds them all by following parent process ids.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_MOST_OUTPUT = 1 << 30
"""Bytes a program may print before it is stopped; what it prints is kept in memory."""
_TICK = 1.0
"""Seconds between looks at a running program: rare, because each takes CPU time from it."""
_CLEARING = 10.0
"""Seconds that killed processes get to disappear (one may hang in the kernel)."""


class Usage:
    """Sums of resource usage over processes that were waited for."""

    def __init__(self) -> None:
        self.user = self.system = 0.0
        self.voluntary = self.involuntary = self.faults = 0
        self.ended: dict[int, int] = {}
        """Wait status of each process that was waited for."""

    def add(self, usage: resource.struct_rusage) -> None:
        """One more process."""
        self.user += usage.ru_utime
        self.system += usage.ru_stime
        self.voluntary += usage.ru_nvcsw
        self.involuntary += usage.ru_nivcsw
        self.faults += usage.ru_minflt + usage.ru_majflt


class Capture:
    """A file in memory that takes a program's output."""

    def __init__(self, name: str) -> None:
        self.handle = os.memfd_create(name)
        # A program that opens /dev/stdout anew must not write over what is there.
        fcntl.fcntl(self.handle, fcntl.F_SETFL, os.O_APPEND)

    def size(self) -> int:
        """Bytes so far."""
        return os.fstat(self.handle).st_size

    def text(self) -> str:
        """All of it; what is no UTF-8 is replaced."""
        data = os.pread(self.handle, self.size(), 0)
        return data.decode(errors="replace")

    def close(self) -> None:
        """Lets it go."""
        os.close(self.handle)


def cpu_times() -> tuple[int, int]:
    """(busy, all) CPU time of the machine since boot in clock ticks; a hypervisor's is busy."""
    fields = Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields)
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def descendants() -> list[int]:
    """Process ids of all descendants that have not been waited for, zombies left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The command name may hold anything, also a parenthesis: split after the last one.
            state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != b"Z":
            children.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def name_of(pid: int) -> str:
    """The kernel's name for the program of a process that was not waited for; empty without one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    return stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode(errors="replace")


def reap(usage: Usage, watched: int = -1) -> tuple[bool, int | None]:
    """Waits for all that have ended.

    Returns whether there are others, and the wait status of `watched` if it has ended.
    """
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
    """Kills every descendant. Returns how many there were, and the wait status of `watched`."""
    deadline = time.monotonic() + _CLEARING
    killed: set[int] = set()
    status = None
    while time.monotonic() < deadline:
        living = descendants()
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed.update(living)
        # A process whose first thread has died looks dead while the others still hold its files.
        remain, ended = reap(usage, watched)
        status = ended if status is None else status
        if not living and not remain:
            break
        time.sleep(0.005)
    return len(killed), status


def spawn(program: str, argv: list[str], environment: dict[str, str], out: int, err: int) -> int:
    """Starts a process in a session of its own; `out` below 0 is nowhere. Returns its id."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return os.posix_spawn(
            program,
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, null, 0),
                (os.POSIX_SPAWN_DUP2, null if out < 0 else out, 1),
                (os.POSIX_SPAWN_DUP2, err, 2),
            ],
            setsid=True,
            setsigmask=[],
            # What we or the interpreter ignore, exec would hand on.
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
    out: Capture | None,
    err: Capture,
    announce: Callable[[str], bool] | None = None,
    usage: Usage | None = None,
) -> dict[str, Any]:
    """One process from start to end, descendants that outlive it left alone.

    announce: told `ready` before the start and `ended` after it; False means not to go on. usage:
    what is added to.

    Times are in seconds, `others` is a share of all CPUs in 0..1 (null for a run too short to
    tell), `status` a wait status, `name` what the kernel had last for the program of `pid`.
    """
    usage = Usage() if usage is None else usage
    if announce is not None and not announce("ready"):
        return {"outcome": "aborted"}
    busy, total = cpu_times()
    start = time.monotonic()
    try:
        child = spawn(program, argv, environment, out.handle if out else -1, err.handle)
    except OSError as error:
        return {"outcome": "unstartable", "reason": error.strerror or str(error)}
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    outcome, status = "exited", None
    try:
        while True:
            remaining = start + timeout - time.monotonic()
            ready = {fd for fd, _ in poll.poll(max(0.0, min(_TICK, remaining)) * 1000)}
            end = time.monotonic()
            if handle in ready:
                break
            if 0 in ready:
                outcome = "aborted"
                break
            if end - start >= timeout:
                outcome = "timeout"
                break
            if err.size() + (out.size() if out else 0) > _MOST_OUTPUT:
                outcome = "flood"
                break
            _, status = reap(usage, child)
            if status is not None:
                break
    finally:
        os.close(handle)
    busy_end, total_end = cpu_times()
    name = name_of(child)
    if announce is not None and outcome != "aborted":
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


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    line = lines[-1].strip()[:300] if lines else ""
    # It will be shown on a terminal, which must not obey it.
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _find(pattern: str, *texts: str) -> str | None:
    """The last match in the first of `texts` that has one: its first group, or all of it."""
    for text in texts:
        matches = deque(re.finditer(pattern, text, re.MULTILINE), maxlen=1)
        if matches:
            group: str | None = matches[0].group(min(1, matches[0].re.groups))
            return group
    return None


def _serve(request: dict[str, Any], announce: Callable[[str], bool]) -> dict[str, Any]:
    """Prepares, runs and clears up as asked."""
    environment: dict[str, str] = request["environment"]
    out = Capture("stdout") if request["metric"] else None
    err = Capture("stderr")
    try:
        if request["prepare"]:
            shell = ["sh", "-c", request["prepare"]]
            bare = request["bare_environment"]
            limit = request["prepare_timeout"]
            answer = run("/bin/sh", shell, bare, limit, None, err)
            if answer["outcome"] != "exited" or answer["status"] != 0:
                return answer | {"stage": "prepare", "last_line": _last_line(err.text())}
            os.ftruncate(err.handle, 0)
        answer = run(
            request["program"],
            request["argv"],
            environment,
            request["timeout"],
            out,
            err,
            announce if request["announce"] else None,
        )
        if out and answer["outcome"] == "exited":
            answer["metric"] = _find(request["metric"], out.text(), err.text())
        return answer | {"stage": "run", "last_line": _last_line(err.text())}
    finally:
        extra = Usage()
        left, _ = clear(extra)
        request["left"] = left
        err.close()
        if out:
            out.close()


def become_subreaper() -> None:
    """From now on, orphaned descendants are children of ours, and the parent decides when to stop:
    its end is seen on standard input."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("no child subreaper")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    """Serves requests until standard input ends."""
    become_subreaper()
    # Unbuffered: poll must see on the descriptor whatever has not been read as a request.
    with open(0, "rb", buffering=0, closefd=False) as requests:

        def announce(event: str) -> bool:
            with contextlib.suppress(BrokenPipeError):
                os.write(1, json.dumps({"event": event}).encode() + b"\n")
            return event != "ready" or bool(requests.readline())

        while line := requests.readline():
            request = json.loads(line)
            answer = _serve(request, announce)
            answer["left"] = answer.get("left", 0) + request["left"]
            try:
                os.write(1, json.dumps(answer).encode() + b"\n")
            except BrokenPipeError:
                return
            if answer.get("outcome") == "aborted":
                return


if __name__ == "__main__":
    main()
