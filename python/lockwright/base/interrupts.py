"""Signals that ask a long command to stop, which it does with a summary."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asks to stop; its number is the argument."""

    @property
    def status(self) -> int:
        """The exit status of a command that was stopped so."""
        return 128 + int(self.args[0])


def _stop(number: int, _: FrameType | None) -> NoReturn:
    # A second one must not cut short the clearing up that the first one starts.
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


@contextmanager
def heeded() -> Iterator[None]:
    """Inside the block, these signals raise Stopped. A signal that nohup made us ignore stays
    ignored."""
    wanted = [each for each in STOPPING if signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, _stop) for each in wanted}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
