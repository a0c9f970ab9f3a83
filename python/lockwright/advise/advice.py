"""The parts of the advice on a profile. Shares are from 0 to 1, times in nanoseconds."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from lockwright.preload.locks import BASELINE

FORMAT = "lockwright advice 1"

ANOTHER_LOCK = "another lock"
"""The kind of the gain by the best lock of the shortlist."""

NAMED = 3
"""Default number of locks of each kind that the sentence names, and the short output lists."""


@dataclass(frozen=True)
class Evidence:
    """A figure of the profile and the threshold that it is compared with.

    value: None where it is not measurable. threshold: None where the figure only informs.
    unit: "share", "ns", "bytes", "threads", "1/s" (per second of the run), "1/cpu s" or
    "bytes/cpu s" (per second of processor time), or "" for a number. source: of the threshold, or
    the measurement in place of the papers' one. met: None where the figure decides nothing. sense:
    the comparison that is met, "at least", "at most" or "above".
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
    """One of the nine bottlenecks. fired: whether all its deciding evidence is met. mutexes:
    indices into the profile's mutexes, the most affected first. measurable: False where a deciding
    figure is missing. advice: the papers' remedy."""

    key: str
    title: str
    fired: bool
    evidence: tuple[Evidence, ...]
    mutexes: tuple[int, ...]
    advice: str
    measurable: bool = True


@dataclass(frozen=True)
class Step:
    """One of the six questions. answer: a word or two; reason: its figures; rule: the kind of locks
    that the answer leaves, or empty if it leaves all. remaining, excluded: names of locks.
    set_aside: why the rule was not applied, or empty."""

    number: int
    question: str
    answer: str
    reason: str
    rule: str
    remaining: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    set_aside: str = ""


@dataclass(frozen=True)
class Candidate:
    """A lock that is worth trying, or DEFAULT, and why. survives_oversubscription: whether its
    waiters leave their processors to a holder that has none. gain, low, high: predicted throughput
    of the whole program, divided by that under the C library's mutex, with its least and greatest
    value, of DEFAULT by its mutexes alone; gain_crowded: the same with four times the threads; None
    where nothing is predicted."""

    lock: str
    reason: str
    survives_oversubscription: bool = True
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    gain_crowded: float | None = None


@dataclass(frozen=True)
class Change:
    """A change to the program itself. kind: a short name; mutex: an index into the profile's
    mutexes, or None if it concerns another lock or the entire program; text: a sentence.
    rwlock, wait: an index into the profile's reader-writer locks, which the text names, or its
    waits, for a lock that is one of these."""

    kind: str
    mutex: int | None
    text: str
    evidence: tuple[Evidence, ...]
    wait: int | None = None
    rwlock: int | None = None


@dataclass(frozen=True)
class Gain:
    """The predicted effect of one of the advice's changes, or of another lock. kind: of the change,
    or ANOTHER_LOCK; change: its index, or None for another lock; text: what was predicted.
    throughput: of the whole program after it, divided by that before; low, high: its least and
    greatest value over all simulations. None where it is not predicted; reason: why, else empty."""

    kind: str
    change: int | None
    text: str
    throughput: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Gains:
    """The predicted gains, the largest first. machine: title of the one that they are predicted
    for; notes: on the agreement of the model with the profile, the conditions of the profile, and
    what the model lacks. reason: why nothing is predicted, else empty. warnings: those of the notes
    that are reasons to doubt the gains."""

    gains: tuple[Gain, ...] = ()
    machine: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TailLatency:
    """The advice on tail latency. one_section: whether an operation is about one critical section,
    so that the lock decides its latency; None where the profile does not show it."""

    one_section: bool | None
    text: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Advice:
    """The advice on a profile. diagnoses: the nine, in the order of the papers. steps: the six.
    shortlist: the best first, without the baseline, which is measured with them. rwlocks: names for
    --rwlock, and DEFAULT.
    lock_may_gain: whether the figures of the profile are a reason to look for a lock. conflicts: a
    sentence for each step that no remaining lock satisfies. sensitive: whether another lock can
    change much; if only for the worse, the shortlist is empty, and no change shortens the waiting.
    lost: ns for which threads waited, as in the profile; lost_share: in the time in which they ran
    or waited. predicted: the gains of the changes; None where they were not asked for. measured:
    those that experiments on the running program have shown, low and high its interval."""

    sentence: str
    sensitive: bool
    sensitivity: tuple[Evidence, ...]
    diagnoses: tuple[Diagnosis, ...]
    steps: tuple[Step, ...]
    shortlist: tuple[Candidate, ...]
    conflicts: tuple[str, ...]
    changes: tuple[Change, ...]
    tail_latency: TailLatency
    lost: float
    lost_share: float
    baseline: str = BASELINE
    remarks: tuple[str, ...] = field(default=())
    rwlocks: tuple[Candidate, ...] = ()
    lock_may_gain: bool = False
    predicted: Gains | None = None
    measured: tuple[Gain, ...] = ()

    @property
    def fired(self) -> tuple[Diagnosis, ...]:
        """The bottlenecks that the program has."""
        return tuple(diagnosis for diagnosis in self.diagnoses if diagnosis.fired)

    def to_json(self) -> str:
        """Return the advice as indented JSON."""
        document: dict[str, Any] = {"format": FORMAT, **dataclasses.asdict(self)}
        return json.dumps(document, indent=1, allow_nan=False)
