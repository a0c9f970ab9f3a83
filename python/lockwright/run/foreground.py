"""Runs a program in the place of this process: forwards signals, returns its exit status."""

import os
import resource
import signal
from collections.abc import Callable
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

_received_early: list[int] = []
"""Signals that arrived before the program was started, to be sent to it then."""

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
) -> End:
    """Run the program in this process group to its end. Raises OSError if it cannot be started.

    It stops and continues with this process, so that job control works as usual. started: called
    with the process id, while the forwarded signals are blocked, as they must be in every thread.
    """
    watched = _FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.posix_spawn(
        program, argv, environment, setsigmask=before, setsigdef=list(PYTHON_IGNORES)
    )
    while _received_early:
        os.kill(child, _received_early.pop(0))
    if started is not None:
        started(child)
    while True:
        received = signal.sigtimedwait(watched, _CHECK_PERIOD)
        if received is not None and received.si_signo != signal.SIGCHLD:
            if received.si_code != _SI_KERNEL:
                os.kill(child, received.si_signo)
            continue
        while True:
            # The kernel forgets the name when the process is waited for.
            name = loads.name_of(child)
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if not os.WIFSTOPPED(status):
                # Signals for the program that arrived after its end would end this process.
                while signal.sigtimedwait(watched, 0) is not None:
                    pass
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return End(status, loads.Ended(child, name))
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child, signal.SIGCONT)


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
