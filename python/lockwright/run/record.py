"""How runs end, in words."""

import signal

FINISHED = "finished"
TIMEOUT = "timeout"
FAILED = "failed"
NO_METRIC = "no metric"


def describe_status(status: int) -> str:
    """Return a wait status in words."""
    number = status & 0x7F
    if number == 0:
        return f"exit status {status >> 8}"
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"
