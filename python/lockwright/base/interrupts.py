"""Signals that stop a long command, which then prints a summary: Ctrl-C, SIGTERM and SIGHUP."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The process received a signal to stop; its number is the argument."""

    @property
    def status(self) -> int:
        """The exit status of a command that was stopped by the signal."""
        return 128 + int(self.args[0])


def _stop(number: int, _: FrameType | None) -> NoReturn:
    # A second signal must not interrupt the clean-up that the first one starts.
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Make these signals raise Stopped within the block, except ignored ones (nohup)."""
    wanted = [each for each in STOPPING if signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, _stop) for each in wanted}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
