"""Advice from a profile: the bottleneck, the locks to try, and changes to the program."""

from lockwright.advise.advice import (
    ANOTHER_LOCK,
    Advice,
    Candidate,
    Change,
    Diagnosis,
    Evidence,
    Gain,
    Gains,
    Step,
    TailLatency,
)
from lockwright.advise.adviser import advise

__all__ = [
    "ANOTHER_LOCK",
    "Advice",
    "Candidate",
    "Change",
    "Diagnosis",
    "Evidence",
    "Gain",
    "Gains",
    "Step",
    "TailLatency",
    "advise",
]
