"""A process of its own that starts what a run of a study consists of, and clears up after it.

As the supervisor of a comparison, of which it is made, it is run as a script with the standard
library only. Requests come on standard input and answers go to standard output, one JSON object a
line; `do` names what is asked for. When standard input ends, whatever the reason, all that it has
started is killed with all descendants.
"""

import contextlib
import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

# Run as an isolated script: nothing says where the package is.
sys.path.insert(0, str(Path(__file__).parents[2]))

from lockwright.run import supervisor
from lockwright.run.supervisor import Capture, Usage


class _File(Capture):
    """A file that takes a program's output."""

    def __init__(self, path: str) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)


def _spent() -> tuple[float, float]:
    """CPU time, user and system, of all processes below this one, ended ones included."""
    ticks = os.sysconf("SC_CLK_TCK")
    own = os.times()
    user, system = own.children_user, own.children_system
    for pid in supervisor.descendants():
        with contextlib.suppress(OSError, ValueError):
            text = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            user += (int(text[11]) + int(text[13])) / ticks
            system += (int(text[12]) + int(text[14])) / ticks
    return user, system


class _Keeper:
    """What has been started. Every answer is an object."""

    def __init__(self) -> None:
        self._processors = os.sched_getaffinity(0)
        self._usage = Usage()

    def serve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Does as asked."""
        match request["do"]:
            case "run":
                return self._run(request)
            case "start":
                return self._start(request)
            case "status":
                return {"status": self._status(request["pid"])}
            case "end":
                return self._end(request["pid"], request["signal"], request["seconds"])
        left, _ = supervisor.clear(self._usage)
        self._usage = Usage()
        return {"left": left}

    @contextlib.contextmanager
    def _placed(self, request: dict[str, Any]) -> Any:
        """In the directory and on the processors that are asked for: children inherit both."""
        os.chdir(request["folder"])
        try:
            if request["processors"]:
                os.sched_setaffinity(0, request["processors"])
            yield
        finally:
            os.sched_setaffinity(0, self._processors)
            os.chdir("/")

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        """One process from start to end. User and system time are those of all processes of ours
        meanwhile, so of a server, too, and `others` is the share of the rest."""
        out, err = _File(request["out"]), _File(request["err"])
        usage = Usage()
        try:
            user, system = _spent()
            busy, total = supervisor.cpu_times()
            with self._placed(request):
                answer = supervisor.run(
                    request["program"],
                    request["argv"],
                    request["environment"],
                    request["timeout"],
                    out,
                    err,
                    usage=usage,
                )
            busy_end, total_end = supervisor.cpu_times()
            user_end, system_end = _spent()
        finally:
            self._usage.ended |= usage.ended
            out.close()
            err.close()
        answer["user"], answer["system"] = user_end - user, system_end - system
        own = (answer["user"] + answer["system"]) * os.sysconf("SC_CLK_TCK")
        if answer.get("others") is not None and total_end > total:
            answer["others"] = min(1.0, max(0.0, busy_end - busy - own) / (total_end - total))
        return answer

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        """A process that goes on while others run."""
        out, err = _File(request["out"]), _File(request["err"])
        try:
            with self._placed(request):
                pid = supervisor.spawn(
                    request["program"],
                    request["argv"],
                    request["environment"],
                    out.handle,
                    err.handle,
                )
        except OSError as error:
            return {"reason": error.strerror or str(error)}
        finally:
            out.close()
            err.close()
        return {"pid": pid}

    def _status(self, pid: int) -> int | None:
        """Wait status of one that was started; None while it runs."""
        supervisor.reap(self._usage)
        return self._usage.ended.get(pid)

    def _end(self, pid: int, number: int, seconds: float) -> dict[str, Any]:
        """Waits for its end, after a signal if that is not 0; no status if it does not come."""
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
    """Serves requests until standard input ends."""
    supervisor.become_subreaper()
    keeper = _Keeper()
    with open(0, "rb", buffering=0, closefd=False) as requests:
        try:
            while line := requests.readline():
                answer = keeper.serve(json.loads(line))
                os.write(1, json.dumps(answer).encode() + b"\n")
                if answer.get("outcome") == "aborted":
                    return
        except BrokenPipeError:
            return
        finally:
            supervisor.clear(Usage())


if __name__ == "__main__":
    main()
