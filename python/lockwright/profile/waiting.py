"""What a profile has of waits for objects other than mutexes, and what all its threads did."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from lockwright.base.wording import counted
from lockwright.profile.frames import Frame

WaitKind = Literal[
    "condition", "semaphore", "barrier", "join", "once", "futex", "lock", "thread", "spin"
]
"""What a thread waits for besides mutexes and reader-writer locks: a condition variable, a
semaphore, a barrier, the end of a thread, an initialisation by pthread_once; by a futex of another
library: a lock, the parking of a thread, any of the others, or what its functions do not tell; by
reading words again and again: "spin"."""

KINDS: Final[dict[WaitKind, str]] = {
    "condition": "condition variable",
    "semaphore": "semaphore",
    "barrier": "barrier",
    "join": "end of threads",
    "once": "initialisation",
    "futex": "futex",
    "lock": "lock",
    "thread": "parked thread",
    "spin": "spinning",
}
"""What the kinds of objects are called."""


INTERPRETER: Final = re.compile(r"(.*/)?(lib)?python3[^/]*|.*/lib-dynload/[^/]*")
"""The files of the interpreter of Python and of the standard library written in C."""


@dataclass(frozen=True)
class WaitSite:
    """A stack from which threads waited for an object, or from which waits were ended: times of
    them, and their time in ns. stack, wrappers: as in a Site."""

    stack: tuple[Frame, ...]
    times: int
    waited: float
    wrappers: int = 0

    @property
    def label(self) -> str:
        """The caller of the library's functions."""
        if not self.stack:
            return ""
        frame = self.stack[self.wrappers]
        return frame.short_label if frame.module else "generated code"

    @property
    def is_python(self) -> bool:
        """Whether the interpreter of Python is the caller, so that only the Python function tells
        what waits."""
        return bool(self.stack and INTERPRETER.fullmatch(self.stack[self.wrappers].module))


@dataclass(frozen=True)
class Holder:
    """A thread that had an object while others slept for it. number: the kernel's; doing: what it
    did, in a few words; samples: the number of those that found it so."""

    number: int
    name: str
    doing: str
    samples: int

    @property
    def label(self) -> str:
        return f"{self.name or 'a thread'} (thread {self.number}), {self.doing}"


@dataclass(frozen=True)
class WaitObject:
    """An object other than a mutex or reader-writer lock for which threads waited, or all further
    ones of a kind (address 0). library: whose futex it is; "" for an object of the C library's
    functions; is_futex: seen by futex calls. waits: all, also those of threads that waited to the
    end; waited: ns, summed over the threads; given_up: of the waits, those that a deadline ended;
    resumed: of the waits, those whose waker is known; resuming: ns of these after the waker's call,
    until the thread ran and, for a condition variable, had its mutex again. waiters, wakers: most
    time first; a waker's times and time are those of the waits that it ended. samples: of
    waiting threads, where nothing else is known: then `waits` are those that any found, 0 for a
    loop in which threads spin, and `holders` are known, most frequent first, where the object's
    memory tells them."""

    kind: WaitKind
    name: str
    library: str
    address: int
    waits: int
    waited: float
    given_up: int = 0
    resumed: int = 0
    resuming: float = 0
    is_futex: bool = False
    waiters: tuple[WaitSite, ...] = ()
    wakers: tuple[WaitSite, ...] = ()
    samples: int = 0
    holders: tuple[Holder, ...] = ()

    @property
    def mean(self) -> float:
        """The ns of a wait; 0 if their number is not known."""
        return self.waited / self.waits if self.waits else 0.0

    @property
    def kind_label(self) -> str:
        """The library, the kind, and whether the figures are from samples."""
        kind = " ".join(filter(None, [self.library, KINDS[self.kind]]))
        return f"{kind} ({counted(self.samples, 'sample')})" if self.samples else kind

    @property
    def waiter(self) -> str:
        """The caller with most of the waiting; "" if unknown or in the interpreter of Python."""
        return _first_label(self.waiters)

    @property
    def waker(self) -> str:
        """The same of those that ended the waits."""
        return _first_label(self.wakers)


def _first_label(sites: tuple[WaitSite, ...]) -> str:
    return next((site.label for site in sites if not site.is_python), "")


@dataclass(frozen=True)
class Times:
    """What threads did during their lives, in seconds summed over them. lived: `running` on a
    processor, `runnable` without one, `waiting` by kind of object ("lock": mutexes and
    reader-writer locks too), and `sleeping`: the rest, as in input and output or for a time."""

    threads: int = 0
    lived: float = 0
    running: float = 0
    runnable: float = 0
    sleeping: float = 0
    waiting: dict[WaitKind, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Role:
    """The threads of one name, without the number at its end; where they have the program's name,
    those that began in one function."""

    name: str
    times: Times


@dataclass(frozen=True)
class Account:
    """What all threads of the process did, and those of each role, longest lives first."""

    all: Times = field(default_factory=Times)
    roles: tuple[Role, ...] = ()


@dataclass(frozen=True)
class ProcessUse:
    """A process of the run. lost: ns waited for mutexes, summed over its threads; times: of all of
    them. is_sampled: whether nothing but samples is known of it."""

    pid: int
    program: str
    lost: float
    times: Times
    is_sampled: bool = False
