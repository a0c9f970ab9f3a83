"""What a profile says: the bottleneck, the locks to try, and what to change in the program."""

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
