"""The command as forks of a process that has imported it: of a short one, a start of Python and the
imports take most of the time. Run as a program, it is that process."""

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

#: The command that starts this Python.
_COMMAND = Path(sys.executable).with_name("lockwright")

#: Beginnings of the variables that are read when a program starts.
_AT_START = ("LANG", "LC_", "LD_", "PYTHON")

#: What most commands import; test_start.py tests which do without.
_PACKAGES = ("lockwright.cli", "msgspec.json", "rich.console", "rich.table", "sqlite3", "tempfile")

#: Packages that start threads. All other modules that a command imports, this process imports after
#: it: none of them reads the environment when it is imported.
_WITH_THREADS = {"dask", "distributed"}


def can_run(words: Sequence[str | Path], environment: Mapping[str, str]) -> bool:
    """Return whether a fork does as a new process: these words are the command's, and no variable
    differs that it has read."""
    changed = environment.items() ^ os.environ.items()
    return Path(words[0]) == _COMMAND and not any(name.startswith(_AT_START) for name, _ in changed)


@cache
def _link() -> socket.socket:
    """Start the process, which ends with this one, and return the socket for requests to it."""
    link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        # Without -P, modules beside this file would hide those of Python.
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            # With threads of its own, numpy's library would not do in a fork.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
    atexit.register(server.communicate)
    atexit.register(link.close)
    return link


def run(
    words: Sequence[str | Path],
    environment: Mapping[str, str],
    folder: Path,
    text: str,
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, with pipes for all three streams. folder: of the process; text:
    its input; timeout: seconds. Raises subprocess.TimeoutExpired."""
    (own_in, to), (out, own_out), (err, own_err) = (os.pipe() for _ in range(3))
    request = pickle.dumps(([str(word) for word in words], dict(environment), str(folder)))
    socket.send_fds(_link(), [request], [own_in, own_out, own_err])
    for end in (own_in, own_out, own_err):
        os.close(end)
    pid = int(_link().recv(20))
    with ThreadPoolExecutor(3) as pool:
        pool.submit(_write, to, text)
        texts = [pool.submit(_read, end) for end in (out, err)]
        _link().settimeout(timeout)
        try:
            status = int(_link().recv(20))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            _link().settimeout(None)
            _link().recv(20)
            raise subprocess.TimeoutExpired(words, timeout) from None
    return subprocess.CompletedProcess(words, status, *(each.result() for each in texts))


def _read(end: int) -> str:
    with os.fdopen(end) as stream:
        return stream.read()


def _write(end: int, text: str) -> None:
    with os.fdopen(end, "w") as stream:
        stream.write(text)


def _serve(link: socket.socket) -> None:
    """Fork for each request; send the number of the process, and its exit status at its end."""
    for package in _PACKAGES:
        importlib.import_module(package)
    from lockwright import start

    while True:
        # Collections in a fork would copy the memory of what is here.
        gc.freeze()
        request, streams, _, _ = socket.recv_fds(link, 1 << 20, 3)
        if not request:
            return
        source, target = os.pipe()
        pid = os.fork()
        if pid == 0:
            link.close()
            os.close(source)
            ended = [1]
            atexit.register(_leave, ended, target, set(sys.modules))
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            sys.argv, environment, folder = pickle.loads(request)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            try:
                ended[0] = start.main()
            except SystemExit as end:
                ended[0] = end.code if isinstance(end.code, int) else int(end.code is not None)
            sys.exit()
        for stream in (*streams, target):
            os.close(stream)
        link.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        link.send(str(os.waitstatus_to_exitcode(status)).encode())
        _import_as_reported(source)


def _leave(ended: Sequence[int], target: int, before: set[str]) -> None:
    """Write the modules that a fork has imported and its parent may import, too, and leave with
    its status. To destroy all objects would take as long as most commands."""
    new = sys.modules.keys() - before
    # A module in C whose package is not imported yet would find it half-made: _asyncio's tasks and
    # those of asyncio are then not the same.
    names = [
        name
        for name in new
        if not name.startswith("_") and name.partition(".")[0] not in _WITH_THREADS
    ]
    with contextlib.suppress(OSError):
        os.write(target, " ".join(sorted(names)).encode()[: 1 << 16])
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(ended[0])


def _import_as_reported(source: int) -> None:
    """Import what a fork, which has ended, has reported; one that was killed has not."""
    os.set_blocking(source, False)
    with os.fdopen(source, "rb") as stream:
        for name in (stream.read() or b"").decode().split():
            with contextlib.suppress(Exception):
                importlib.import_module(name)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
