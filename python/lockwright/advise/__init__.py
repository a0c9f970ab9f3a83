"""Advice from a profile: the bottleneck, the locks to try, and changes to the program."""

from lockwright.advise.advice import (
    Advice,
    Candidate,
    Change,
    Diagnosis,
    Evidence,
    Step,
    TailLatency,
)
from lockwright.advise.adviser import SHORTLIST, advise

__all__ = [
    "SHORTLIST",
    "Advice",
    "Candidate",
    "Change",
    "Diagnosis",
    "Evidence",
    "Step",
    "TailLatency",
    "advise",
]
