"""The contenders of a grid: locks, and the lock under test with a mechanism switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockwright.base.errors import LockwrightError, warn
from lockwright.preload.locks import BASELINE, Tunable, registry
from lockwright.run.bench_program import LIBC, Subject, subjects

DEFAULT = "adaptive"
"""The default lock under test."""

FALLBACK = "futex"
"""The lock under test in a build without DEFAULT."""

QUICK = ("futex", "ttas", "mcs-stp", "lifo-cr", "loiter", "wordlock")
"""Locks of different kinds, of which most are the best in some cell."""


@dataclass(frozen=True)
class Contender:
    """A lock with the variables of its runs. without: the tunable that is switched off, or ""."""

    name: str
    subject: Subject
    environment: Mapping[str, str] = field(default_factory=dict)
    without: str = ""


@dataclass(frozen=True)
class Contest:
    """The lock under test, the locks that may be best (BASELINE among them), and the lock under
    test without one mechanism each."""

    own: Contender
    others: tuple[Contender, ...]
    ablated: tuple[Contender, ...] = ()

    @property
    def all(self) -> list[Contender]:
        return [self.own, *self.others, *self.ablated]


def lock_under_test(name: str | None, known: Sequence[str]) -> str:
    """Return the named lock, or the default. known: the locks of this build.

    Warns if this build does not have the default.
    """
    if name is not None:
        return name
    if DEFAULT in known:
        return DEFAULT
    warn(f"this build has no lock '{DEFAULT}'; '{FALLBACK}' is measured, --lock names another")
    return FALLBACK


def contest(lock: str, against: str | None, *, quick: bool, ablate: bool) -> Contest:
    """Resolve the names. against: separated by commas, None for the default.

    Raises LockwrightError for unknown names.
    """
    default: Sequence[str] | None = QUICK if quick else None
    if ablate and against is None:
        default = (BASELINE,)
    own = Contender(lock, _subject(lock))
    others = [
        Contender(each.name, each)
        for each in subjects(against, default)
        if each.name not in (LIBC, lock, BASELINE)
    ]
    if lock != BASELINE:
        others.insert(0, Contender(BASELINE, _subject(BASELINE)))
    if not others:
        raise LockwrightError(f"there is no lock to compare '{lock}' with", "name one in --against")
    return Contest(own, tuple(others), tuple(_ablated(own)) if ablate else ())


def _subject(name: str) -> Subject:
    if name == LIBC or "," in name or name == "all":
        raise LockwrightError(f"'{name}' is not one lock", "give a lock of 'lockwright list'")
    return subjects(name, None)[-1]


def switches(tunables: Sequence[Tunable]) -> list[Tunable]:
    """Return the tunables that switch a mechanism off: 0 is allowed, and not the default."""
    return [each for each in tunables if each.least == 0 and each.default != 0]


def _ablated(own: Contender) -> list[Contender]:
    lock = own.subject.lock
    tunables = switches((lock or registry().find(own.name)).tunables)
    if not tunables:
        raise LockwrightError(
            f"'{own.name}' has no tunable that can be switched off",
            f"'lockwright info {own.name}' lists its numbers; 0 must be allowed",
        )
    return [
        replace(
            own,
            name=f"{own.name} without {each.name}",
            environment={each.variable: "0"},
            without=each.name,
        )
        for each in tunables
    ]
