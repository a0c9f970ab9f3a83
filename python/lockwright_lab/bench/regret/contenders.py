"""The contenders of a grid: locks, and the lock under test with a mechanism switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lockwright.base.errors import LockwrightError, warn
from lockwright.experiment import Contender
from lockwright.preload.locks import BASELINE, RWLOCK, Tunable, check_replacement, registry
from lockwright.preload.rwlocks import rwlocks
from lockwright.run.bench_program import LIBC, Subject, subjects

DEFAULT = "adaptive"
"""The default lock under test."""

FALLBACK = "futex"
"""The lock under test in a build without DEFAULT."""

QUICK = ("futex", "ttas", "mcs-stp", "lifo-cr", "loiter", "wordlock")
"""Locks of different kinds, of which most are the best in some cell."""


QUICK_RWLOCKS = ("futex-rw", "parking-lot-rw", "big-reader", "c-rw-wp", "shfl-rw")
"""The same of reader-writer locks."""


@dataclass(frozen=True)
class Contest:
    """The lock under test, the locks that may be best (BASELINE the first of them), and the lock
    under test without one mechanism each, by the tunable that is switched off."""

    own: Contender
    others: tuple[Contender, ...]
    ablated: Mapping[str, Contender] = field(default_factory=dict)

    @property
    def all(self) -> list[Contender]:
        return [self.own, *self.others, *self.ablated.values()]


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
    own = Contender(lock, subject=_subject(lock))
    others = [
        Contender(each.name, subject=each)
        for each in subjects(against, default)
        if each.name not in (LIBC, lock, BASELINE)
    ]
    if lock != BASELINE:
        others.insert(0, Contender(BASELINE, subject=_subject(BASELINE)))
    if not others:
        raise LockwrightError(f"there is no lock to compare '{lock}' with", "name one in --locks")
    tunables = (own.subject.lock or registry().find(own.name)).tunables
    return Contest(own, tuple(others), _ablated(own, tunables) if ablate else {})


def is_rwlock(name: str) -> bool:
    """Return True for a reader-writer lock."""
    return name in rwlocks()


def rwlock_contest(lock: str, against: str | None, *, quick: bool, ablate: bool) -> Contest:
    """The same as `contest` for a reader-writer lock: BASELINE is that of the C library, without a
    preloaded library; the other ones run beside the C library's mutex."""
    default = QUICK_RWLOCKS if quick else () if ablate else tuple(rwlocks())
    if against == "all":
        against = ",".join(rwlocks())
    words = default if against is None else against.split(",")
    names = [word.strip() for word in words if word.strip()]
    own = _rwlock(lock)
    others = [_rwlock(name) for name in names if name not in (LIBC, lock, BASELINE)]
    baseline = Contender(BASELINE, subject=Subject(BASELINE))
    return Contest(
        own,
        (baseline, *others),
        _ablated(own, rwlocks()[lock].tunables) if ablate else {},
    )


def _rwlock(name: str) -> Contender:
    check_replacement("--locks", RWLOCK, name)
    library = Subject(name, registry().path_of(BASELINE), lock=registry().find(BASELINE))
    return Contender(name, {RWLOCK: name}, library)


def _subject(name: str) -> Subject:
    if name == LIBC or "," in name or name == "all":
        raise LockwrightError(f"'{name}' is not one lock", "give a lock of 'lockwright list'")
    return subjects(name, None)[-1]


def switches(tunables: Sequence[Tunable]) -> list[Tunable]:
    """Return the tunables that switch a mechanism off: 0 is allowed, and not the default."""
    return [each for each in tunables if each.least == 0 and each.default != 0]


def _ablated(own: Contender, tunables: Sequence[Tunable]) -> dict[str, Contender]:
    mechanisms = switches(tunables)
    if not mechanisms:
        raise LockwrightError(
            f"'{own.name}' has no tunable that can be switched off",
            f"'lockwright info {own.name}' lists its numbers; 0 must be allowed",
        )
    return {
        each.name: Contender(
            f"{own.name} without {each.name}", {**own.environment, each.variable: "0"}, own.subject
        )
        for each in mechanisms
    }
