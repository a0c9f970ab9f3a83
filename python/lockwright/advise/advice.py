"""What there is to say about a profile. Shares are from 0 to 1, times in nanoseconds."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from lockwright.preload.locks import BASELINE

FORMAT = "lockwright advice 1"


@dataclass(frozen=True)
class Evidence:
    """A figure of the profile, beside the threshold that it was held against.

    value: None where it is not measurable. threshold: None where the figure only informs.
    unit: "share", "ns", "bytes", "threads", "1/s" (per second of the run), "1/cpu s" or
    "bytes/cpu s" (per second that a processor was used), or "" for a number. source: of the
    threshold, or of what is measured in the place of what the papers measure. met: None where the
    figure decides nothing. sense: how the value has to lie to the threshold, "at least", "at most"
    or "above".
    """

    quantity: str
    value: float | None
    threshold: float | None
    unit: str
    source: str
    met: bool | None
    sense: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """One of the nine bottlenecks. fired: all its deciding evidence is met. mutexes: those that it
    concerns, the most concerned first, as indices into the profile's. measurable: False where what
    decides cannot be had. advice: what the papers say to do about it."""

    key: str
    title: str
    fired: bool
    evidence: tuple[Evidence, ...]
    mutexes: tuple[int, ...]
    advice: str
    measurable: bool = True


@dataclass(frozen=True)
class Step:
    """One of the six questions. answer: in a word or two; reason: the figures behind it; rule:
    which locks the answer keeps, or empty where it keeps all. kept, dropped: names of locks.
    set_aside: why the rule was not applied, or empty."""

    number: int
    question: str
    answer: str
    reason: str
    rule: str
    kept: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    set_aside: str = ""


@dataclass(frozen=True)
class Candidate:
    """A lock that is worth a try, and why."""

    lock: str
    reason: str


@dataclass(frozen=True)
class Change:
    """What to do about the program itself. kind: a word for it; mutex: an index into the profile's
    mutexes, or None where it concerns the whole; text: a sentence."""

    kind: str
    mutex: int | None
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class TailLatency:
    """Whether an operation is about one critical section, so that the lock decides its latency;
    None where it cannot be told."""

    one_section: bool | None
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Advice:
    """All of it. diagnoses: the nine, in the order of the papers. steps: the six. shortlist: the
    best first, without the baseline, which is to be tried beside. conflicts: steps that no lock
    satisfies together, each a sentence. sensitive: whether another lock can change much, if only
    for the worse: then the shortlist is empty."""

    sentence: str
    sensitive: bool
    sensitivity: tuple[Evidence, ...]
    diagnoses: tuple[Diagnosis, ...]
    steps: tuple[Step, ...]
    shortlist: tuple[Candidate, ...]
    conflicts: tuple[str, ...]
    changes: tuple[Change, ...]
    tail_latency: TailLatency
    baseline: str = BASELINE
    remarks: tuple[str, ...] = field(default=())

    @property
    def fired(self) -> tuple[Diagnosis, ...]:
        """The bottlenecks that the program has."""
        return tuple(each for each in self.diagnoses if each.fired)

    def to_json(self) -> str:
        """The whole, as indented JSON."""
        whole: dict[str, Any] = {"format": FORMAT, **dataclasses.asdict(self)}
        return json.dumps(whole, indent=1, allow_nan=False)
