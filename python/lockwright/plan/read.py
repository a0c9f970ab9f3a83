"""The reader of plans: TOML, a lock for all mutexes and one for all reader-writer locks, and a
`[[mutex]]` or `[[rwlock]]` table for each exception."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, RWLOCK, Registry, check_replacement
from lockwright.preload.rwlocks import KEEP, MUTEX

_Text = Annotated[str, Meta(min_length=1)]

SUBJECTS = {
    "mutex": ("mutex", "mutexes"),
    "rwlock": ("reader-writer lock", "reader-writer locks"),
}
"""The object and the objects that the entries are about, by Entry.table."""


@dataclass(frozen=True)
class Entry:
    """A `[[mutex]]` or `[[rwlock]]` table: a choice of mutexes or reader-writer locks, below called
    mutexes, and the locks that they get in rotation.

    symbol: the variable that contains the mutexes; site: the code that initialises them, or uses
    them first; in_library: the file of the symbol or site, or alone, of the mutexes or their
    initialisers. profile, rank: a profile and the rank of the mutex in it, from 1. ordinal: the
    index of the mutex among those found, from 0; None for all of them. table: "mutex" or "rwlock";
    number: among these, from 1.
    """

    table: str
    number: int
    locks: tuple[str, ...]
    symbol: str | None = None
    site: str | None = None
    in_library: str | None = None
    profile: Path | None = None
    rank: int | None = None
    ordinal: int | None = None

    @property
    def subject(self) -> str:
        """The kind of object that it is about, in words."""
        return SUBJECTS[self.table][0]

    @property
    def title(self) -> str:
        """Its table and number, as messages name it."""
        return f"[[{self.table}]] {self.number}"

    @property
    def description(self) -> str:
        """The entry in words."""
        keys = {
            "symbol": self.symbol,
            "site": self.site,
            "library": self.in_library,
            "rank": self.rank,
            "ordinal": self.ordinal,
        }
        return ", ".join(f"{name} {value}" for name, value in keys.items() if value is not None)


@dataclass(frozen=True)
class Plan:
    """A plan. path: its file; locks: of all mutexes without an entry, in rotation; rwlock: the
    reader-writer lock in place of the C library's, None if the plan names none."""

    path: Path
    locks: tuple[str, ...]
    entries: tuple[Entry, ...]
    rwlock: str | None = None

    @property
    def all_locks(self) -> list[str]:
        """Every lock of the plan's mutexes, once."""
        of_mutexes = [entry for entry in self.entries if entry.table == "mutex"]
        names = [*self.locks, *(lock for entry in of_mutexes for lock in entry.locks)]
        return list(dict.fromkeys(names))


_Names = _Text | Annotated[tuple[str, ...], Meta(min_length=1)]


class _Entry(Table, frozen=True):
    """The table of an entry."""

    lock: _Names
    symbol: _Text | None = None
    site: _Text | None = None
    library: _Text | None = None
    rank: Annotated[int, Meta(ge=1)] | None = None
    profile: _Text | None = None
    ordinal: Annotated[int, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        places = [key for key in ("symbol", "site", "rank") if getattr(self, key) is not None]
        if len(places) > 1:
            raise ValueError(f"has both a {places[0]} and a {places[1]}; write a table for each")
        if (self.rank is None) != (self.profile is None):
            missing = "rank" if self.rank is None else "profile"
            raise ValueError(
                f"has no {missing}; a rank is one of a profile's mutexes or reader-writer locks: "
                "give both"
            )
        has_more = self.ordinal is not None or self.library is not None
        if self.rank is not None and has_more:
            raise ValueError("has more than a rank; the profile contains the rest: leave it out")

    @property
    def is_for_all(self) -> bool:
        """Whether it chooses no mutex."""
        return self == _Entry(self.lock)


class _File(Table, frozen=True):
    """The file of a plan."""

    lock: _Names | None = None
    rwlock: _Text | tuple[_Entry, ...] | None = None
    mutex: tuple[_Entry, ...] = ()

    def __post_init__(self) -> None:
        if not self.mutex and self.lock is self.rwlock is None:
            raise ValueError('is empty; give it lock = "…" for all mutexes, or a [[mutex]] table')


def read(path: Path, registry: Registry) -> Plan:
    """Return the plan of a file. Raises LockwrightError if it is not one, or has unknown locks."""
    file = documents.load(_File, path, "name the file of a plan")
    with documents.named(str(path)):
        return _plan(path, file, registry)


def _plan(path: Path, file: _File, registry: Registry) -> Plan:
    for lock in _locks(file.lock or BASELINE):
        _check_mutex_lock(registry, lock)
    entries = []
    for number, table in enumerate(file.mutex, 1):
        with documents.named(f"mutex[{number}]"):
            for lock in _locks(table.lock):
                _check_mutex_lock(registry, lock)
            entries.append(_entry(path, "mutex", number, table))
    rwlock = file.rwlock
    if isinstance(rwlock, tuple):
        rwlock, of_rwlocks = _rwlock_entries(path, rwlock)
        entries += of_rwlocks
    elif rwlock is not None:
        check_replacement("rwlock", RWLOCK, rwlock)
    return Plan(path, _locks(file.lock or BASELINE), tuple(entries), rwlock)


def _rwlock_entries(path: Path, tables: Sequence[_Entry]) -> tuple[str | None, list[Entry]]:
    """Return the lock of the table that chooses no reader-writer lock, or None, and the entries of
    the others."""
    rwlock: str | None = None
    entries = []
    for number, table in enumerate(tables, 1):
        with documents.named(f"rwlock[{number}]"):
            for lock in _locks(table.lock):
                _check_rwlock(lock)
            if not (table.is_for_all and isinstance(table.lock, str)):
                entries.append(_entry(path, "rwlock", number, table))
            elif rwlock is None:
                rwlock = table.lock
            else:
                raise LockwrightError(
                    "it is the second for all reader-writer locks",
                    "leave one of them out, or give it a symbol, site, library, rank or ordinal",
                )
    return rwlock, entries


def _entry(path: Path, kind: str, number: int, table: _Entry) -> Entry:
    if table.is_for_all:
        raise LockwrightError(
            f"it does not say which {SUBJECTS[kind][0]}",
            "give it a symbol, site, library, rank or ordinal",
        )
    return Entry(
        kind,
        number,
        _locks(table.lock),
        symbol=table.symbol,
        site=table.site,
        in_library=table.library,
        profile=None if table.profile is None else path.parent / table.profile,
        rank=table.rank,
        ordinal=table.ordinal,
    )


def _locks(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _check_mutex_lock(registry: Registry, name: str) -> None:
    if name != BASELINE:
        registry.find(name)


def _check_rwlock(name: str) -> None:
    check_replacement("lock", RWLOCK, name)
    if name == MUTEX:
        raise LockwrightError(
            "a plan has several locks, so none of them is the lock of 'mutex'",
            f"name a reader-writer lock, or '{KEEP}' for the C library's",
        )
