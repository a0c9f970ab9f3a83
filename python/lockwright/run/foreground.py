"""Runs a program instead of this process: forwards signals, returns its exit status."""

import contextlib
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from lockwright.preload import loads

_FORWARDED = {
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGCONT,
    signal.SIGTSTP,
    signal.SIGWINCH,
}
_TERMINATION = (signal.SIGTERM, signal.SIGHUP)
_SI_KERNEL = 0x80
"""si_code of a signal from the kernel; a terminal sends such signals also to the child."""

_CHECK_PERIOD = 0.2
"""Seconds between checks for the program's end: a library's thread that does not block the signals
may have consumed SIGCHLD."""

_FIRST_PERIOD, _PERIOD_GROWTH = 0.01, 1.3
"""The first of these periods, and the factor to the next one: a short program is looked at, too."""

_CONTINUE_WITH = """
import os, sys, time
command = os.getppid()
def is_stopped(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except OSError:
        return False
while os.getppid() == command:
    if not is_stopped(int(sys.argv[1])) and is_stopped(command):
        os.kill(command, 18)
    time.sleep(0.02)
"""
"""A script that continues its parent, this process, when a process is no longer stopped. It repeats
this, for it may begin before this process has stopped."""

_received_early: list[int] = []
"""Signals that arrived before the program was started, or that a library's thread received: to be
sent to it."""

PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that the Python interpreter ignores; exec would pass that on to the program."""


@dataclass(frozen=True)
class End:
    """The end of a program. status: a wait status."""

    status: int
    process: loads.Ended


def run(
    program: Path,
    argv: list[str],
    environment: dict[str, str],
    started: Callable[[int], None] | None = None,
    look: Callable[[int], None] | None = None,
) -> End:
    """Run the program in this process group to its end. Raises OSError if it cannot be started.

    Under a shell with job control, this process stops and continues with the program. started:
    called with the process id, while the forwarded signals are blocked, as they must be in every
    thread. look: called with it now and then, in a thread.
    """
    watched = _FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.posix_spawn(
        program, argv, environment, setsigmask=before, setsigdef=list(PYTHON_IGNORES)
    )
    if started is not None:
        started(child)
    has_ended = threading.Event()
    looker = threading.Thread(target=_look_at_times, args=(look, child, has_ended), daemon=True)
    if look is not None:
        looker.start()
    continuer = -1
    while True:
        while _received_early:
            os.kill(child, _received_early.pop(0))
        # Nearly all of the time is spent here: else a library's thread may receive a signal.
        received = signal.sigtimedwait(watched, _CHECK_PERIOD)
        if received is not None and received.si_signo != signal.SIGCHLD:
            if received.si_code != _SI_KERNEL and received.si_pid != continuer:
                os.kill(child, received.si_signo)
            continue
        while True:
            # The kernel forgets it when the process is waited for.
            ended = loads.ended(child)
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if not os.WIFSTOPPED(status):
                has_ended.set()
                if looker.is_alive():
                    looker.join()
                # Signals for the program that arrived after its end would end this process.
                while signal.sigtimedwait(watched, 0) is not None:
                    pass
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return End(status, ended)
            if _is_job():
                continuer = _stop_with(child, before)


def _look_at_times(look: Callable[[int], None], child: int, has_ended: threading.Event) -> None:
    period = _FIRST_PERIOD
    while not has_ended.wait(period):
        look(child)
        period = min(period * _PERIOD_GROWTH, _CHECK_PERIOD)


def _is_job() -> bool:
    """Return whether the parent is a shell with job control, as far as can be known: it gives each
    job a process group of its own in its session."""
    parent = os.getppid()
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(parent) != os.getpgrp() and os.getsid(parent) == os.getsid(0)
    return False


def _stop_with(child: int, mask: Collection[int]) -> int:
    """Stop until the shell continues this process, or another process the child. Return the id of
    the process that waited for the latter and sends that SIGCONT, -1 if it could not be started.
    mask: of its signals."""
    try:
        continuer = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _CONTINUE_WITH, str(child)],
            os.environ,
            # The terminal's signals must not reach it.
            setpgroup=0,
            setsigmask=mask,
        )
    except OSError:
        return -1
    os.kill(os.getpid(), signal.SIGSTOP)
    # Waiting for it would add what it used to the program's resources.
    os.kill(continuer, signal.SIGKILL)
    return continuer


def ignore_termination() -> None:
    """Make this process survive SIGTERM and SIGHUP, to save its data: they are for the program.
    `timeout` sends them twice, to this process and to its group."""
    for number in _TERMINATION:
        # Unlike SIG_IGN, a handler function is not inherited by the program.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda received, _: _received_early.append(received))


def end_as(status: int) -> int:
    """Return the exit status of a wait status, or end this process by the same signal."""
    if not os.WIFSIGNALED(status):
        # The interpreter removes its handlers when it ends.
        for ignored in _TERMINATION:
            if callable(signal.getsignal(ignored)):
                signal.signal(ignored, signal.SIG_IGN)
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    # A core file of this process would overwrite that of the program.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number
