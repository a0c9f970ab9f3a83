"""Runs one program as if it stood in our place: signals go to it, its end becomes ours."""

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
_LEFT = (signal.SIGTERM, signal.SIGHUP)
_SI_KERNEL = 0x80
"""si_code of a signal that the kernel made: what a terminal sends, it sends the child as well."""

_LOOK = 0.2
"""Seconds after which to see for ourselves whether the program has ended: a thread of a library,
which does not know that the signals are ours, may have taken the news and dropped it."""

PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that the Python interpreter ignores; exec would hand that on to the program."""


@dataclass(frozen=True)
class End:
    """How a program ended. status: as wait() gives it."""

    status: int
    process: loads.Ended


def run(
    program: Path,
    argv: list[str],
    environment: dict[str, str],
    started: Callable[[int], None] | None = None,
) -> End:
    """Run the program in our process group and return how it ended.

    Stops and continues with it, so that job control works as without us. started: called with its
    number once it runs, with the signals blocked that go to it, as they have to be in every thread.
    Raises OSError if it cannot be started.
    """
    watched = _FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.posix_spawn(
        program, argv, environment, setsigmask=before, setsigdef=list(PYTHON_IGNORES)
    )
    if started is not None:
        started(child)
    while True:
        news = signal.sigtimedwait(watched, _LOOK)
        if news is not None and news.si_signo != signal.SIGCHLD:
            if news.si_code != _SI_KERNEL:
                os.kill(child, news.si_signo)
            continue
        while True:
            # While it can be asked: of a process that was waited for, nothing is known.
            name = loads.name_of(child)
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                break
            if not os.WIFSTOPPED(status):
                # What came for the program after its end is not for us, and would end us.
                while signal.sigtimedwait(watched, 0) is not None:
                    pass
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                return End(status, loads.Ended(child, name))
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(child, signal.SIGCONT)


def leave_to_program() -> None:
    """From now on SIGTERM and SIGHUP do not end us, before `run` and after it: they are for the
    program, which `timeout` sends them twice, through us and to the whole group, and what it leaves
    has to be written down when it has ended. SIGINT does end us then."""
    for number in _LEFT:
        # A function of ours, unlike SIG_IGN, is not handed on to the program.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: None)


def end_as(status: int) -> int:
    """End us as a wait status says: dies by the same signal, or returns the exit status."""
    if not os.WIFSIGNALED(status):
        # While the interpreter ends it takes its functions back.
        for left in _LEFT:
            if callable(signal.getsignal(left)):
                signal.signal(left, signal.SIG_IGN)
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    # The program has left its core, if it left one; ours would only overwrite it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number
