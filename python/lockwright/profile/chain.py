"""Chains of waits, as a profile has them."""

from dataclasses import dataclass
from typing import Literal

EndState = Literal["running", "runnable", "sleeping", "handover", "unknown"]
"""What the thread at the end of a chain does. handover: it has what it waited for, and has not
continued yet; unknown: none was found."""


@dataclass(frozen=True)
class Link:
    """An object for which a thread of a chain waits. kind: "mutex", "rwlock", or that of an object
    in `waits`."""

    kind: str
    name: str


@dataclass(frozen=True)
class Chain:
    """Waiting that ends at one place. share: of all sampled waiting; waited: its time in ns,
    estimated; samples: of a waiting thread. path: the objects, that of the thread whose waiting it
    is in front. role, site, state, call: of the thread at the end: its role, the function that
    holds the last object or last ended waits for it ("" if unknown), what the thread does, and the
    system call in which it sleeps."""

    share: float
    waited: float
    samples: float
    path: tuple[Link, ...]
    role: str
    site: str
    state: EndState
    call: str = ""
