"""A separate process that starts programs, times them, and cleans up after them.

It is run as a script with the standard library only, so that it is small, single-threaded and
starts fast. Requests come on standard input and answers go to standard output, one JSON object a
line; `do` names the request. A run may have events before its answer: `ready` right before the
start, after which the supervisor reads a line; `ended` at the end; `line` for each line of output.
When standard input ends (Ctrl-C, `kill -9` of the parent), all started processes and their
descendants are killed: none remains to disturb the next run.
"""

import contextlib
import json
import os
import re
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# An isolated script does not know the path of the package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from lockwright.run import inherited, process_tree
from lockwright.run.process_tree import File, Lines, Memory, Nowhere, Usage

_MOST_ERRORS = 1 << 20
"""Bytes at the end of the standard error that are returned."""


def _sink(where: str, name: str) -> Nowhere:
    """Return the destination of an output: `nowhere`, `memory`, `lines` or an absolute path."""
    match where:
        case "nowhere":
            return Nowhere()
        case "memory":
            return Memory(name)
        case "lines":
            return Lines()
    return File(where)


def _find(pattern: str, *texts: str) -> str | None:
    """Return the last match in the first of `texts` that has one: its first group, or all of it."""
    for text in texts:
        matches = deque(re.finditer(pattern, text, re.MULTILINE), maxlen=1)
        if matches:
            group: str | None = matches[0].group(min(1, matches[0].re.groups))
            return group
    return None


class _Spent:
    """CPU time of all processes below this one, ended ones included, and of the machine."""

    def __init__(self) -> None:
        ticks = os.sysconf("SC_CLK_TCK")
        own = os.times()
        self._user, self._system = own.children_user, own.children_system
        for pid in process_tree.descendants():
            with contextlib.suppress(OSError, ValueError):
                text = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
                self._user += (int(text[11]) + int(text[13])) / ticks
                self._system += (int(text[12]) + int(text[14])) / ticks
        self._busy, self._total = process_tree.cpu_times()

    def since(self, before: "_Spent", others: float | None) -> dict[str, Any]:
        """Return the CPU time since `before` for an answer. others: the share without the processes
        started before."""
        user, system = self._user - before._user, self._system - before._system
        total = self._total - before._total
        if others is not None and total > 0:
            busy = self._busy - before._busy - (user + system) * os.sysconf("SC_CLK_TCK")
            others = min(1.0, max(0.0, busy) / total)
        return {"user": user, "system": system, "others": others}


class _Supervisor:
    """Serves requests. await_reply: reads the line that answers the event `ready`."""

    def __init__(self, await_reply: Callable[[], bool]) -> None:
        self._usage = Usage()
        self._await_reply = await_reply

    def serve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request and return the answer."""
        match request["do"]:
            case "run":
                return self._run(request)
            case "start":
                return self._start(request)
            case "status":
                return {"status": self._status(request["pid"])}
            case "end":
                return self._end(request["pid"], request["signal"], request["seconds"])
        left, _ = process_tree.clear(self._usage)
        self._usage = Usage()
        return {"left": left}

    @contextlib.contextmanager
    def _placed(self, request: dict[str, Any]) -> Iterator[None]:
        """Change to the directory of a request and to what the children inherit."""
        os.chdir(request["folder"])
        try:
            with inherited.passed_on(
                request["processors"], request["batch"], request["small_pages"]
            ):
                yield
        finally:
            os.chdir("/")

    @contextlib.contextmanager
    def _outputs(self, request: dict[str, Any]) -> Iterator[tuple[Nowhere, Nowhere]]:
        out = _sink(request["out"], "stdout")
        try:
            err = _sink(request["err"], "stderr")
            try:
                yield out, err
            finally:
                err.close()
        finally:
            out.close()

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        usage = Usage()
        with self._outputs(request) as (out, err):
            try:
                before = _Spent() if request["others_running"] else None
                with self._placed(request):
                    answer = process_tree.run(
                        request["program"],
                        request["argv"],
                        request["environment"],
                        request["timeout"],
                        out,
                        err,
                        request["silence"],
                        usage,
                        self._await_reply if request["announce"] else None,
                        request["pause"],
                    )
                if before is not None:
                    answer |= _Spent().since(before, answer.get("others"))
            finally:
                self._usage.ended |= usage.ended
            if request["clear"]:
                left, _ = process_tree.clear(self._usage)
                answer["left"] = answer.get("left", 0) + left
            if isinstance(err, Memory):
                answer["errors"] = err.text(_MOST_ERRORS)
            if isinstance(out, Lines):
                out.forward()
            if isinstance(out, Memory) and request["metric"] is None:
                answer["output"] = out.text()
            elif isinstance(out, Memory) and answer["outcome"] == "exited":
                texts = [each.text() for each in (out, err) if isinstance(each, Memory)]
                answer["metric"] = _find(request["metric"], *texts)
        return answer

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start a process without waiting for its end."""
        try:
            with self._outputs(request) as (out, err), self._placed(request):
                pid = process_tree.spawn(
                    request["program"], request["argv"], request["environment"], out, err
                )
        except OSError as error:
            return {"reason": error.strerror or str(error)}
        return {"pid": pid}

    def _status(self, pid: int) -> int | None:
        """Return the wait status of a started process; None while it runs."""
        process_tree.reap(self._usage)
        return self._usage.ended.get(pid)

    def _end(self, pid: int, number: int, seconds: float) -> dict[str, Any]:
        """Send a signal, unless it is 0, and wait for the end of a process for some seconds."""
        end = time.monotonic() + seconds
        if number and self._status(pid) is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        while self._status(pid) is None and time.monotonic() < end:
            if poll.poll(5):
                break
        return {"status": self._status(pid)}


def main() -> None:
    """Serve requests until standard input ends."""
    process_tree.become_subreaper()
    # Unbuffered, so that poll on the descriptor detects every unread request.
    with open(0, "rb", buffering=0, closefd=False) as requests:
        supervisor = _Supervisor(lambda: bool(requests.readline()))
        try:
            while line := requests.readline():
                answer = supervisor.serve(json.loads(line))
                os.write(1, json.dumps(answer).encode() + b"\n")
                if answer.get("outcome") == "aborted":
                    return
        except BrokenPipeError:
            return
        finally:
            process_tree.clear(Usage())


if __name__ == "__main__":
    main()
