"""The record of a run."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

FINISHED = "finished"
TIMEOUT = "timeout"
FAILED = "failed"
NO_METRIC = "no metric"
OUTCOMES = (FINISHED, TIMEOUT, FAILED, NO_METRIC)


@dataclass(frozen=True)
class Record:
    """The result of a run.

    round: from 1; below 1 for warm-up runs; value: in the comparison's unit, None unless finished;
    wall, user, system: seconds, CPU time over the process tree; voluntary, involuntary: context
    switches; others: share of all CPUs that other processes used, 0..1, None if the run was too
    short; status: a wait status; note: the reason if not finished; started: ISO 8601, UTC; meters:
    the values read around it, by the keys of lockwright.machine.meters.
    """

    threads: int
    round: int
    lock: str
    outcome: str
    value: float | None
    wall: float
    user: float
    system: float
    voluntary: int
    involuntary: int
    others: float | None
    status: int | None
    note: str
    started: str
    meters: Mapping[str, float] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """True if this is not a warm-up run."""
        return self.round >= 1


def describe_status(status: int) -> str:
    """Return a wait status in words."""
    number = status & 0x7F
    if number == 0:
        return f"exit status {status >> 8}"
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"
