"""The reader of plans: TOML, a lock for all mutexes and one for all reader-writer locks, and a
`[[mutex]]` or `[[rwlock]]` table for each exception."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BASELINE, RWLOCK, Registry, check_replacement
from lockwright.preload.rwlocks import KEEP, MUTEX

_HOW = "docs/plans.md describes the keys of a plan"
_TOP_KEYS = ("lock", "rwlock", "mutex")
_KEYS = ("lock", "symbol", "site", "library", "rank", "profile", "ordinal")

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


def read(path: Path, registry: Registry) -> Plan:
    """Return the plan of a file. Raises LockwrightError if it is no plan, or has unknown locks."""
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise LockwrightError(
            f"cannot read {path}: {error.strerror}", "name the file of a plan"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LockwrightError(f"{path} is not TOML: {error}", _HOW) from error
    _check_keys(str(path), document, _TOP_KEYS)
    tables = _tables(path, document, "mutex")
    if not tables and not {"lock", "rwlock"} & document.keys():
        raise LockwrightError(
            f"{path} is empty", 'give it lock = "…" for all mutexes, or a [[mutex]] table'
        )
    check_mutex_lock = _mutex_lock_check(registry)
    entries = [
        _entry(path, "mutex", number, table, check_mutex_lock)
        for number, table in enumerate(tables, 1)
    ]
    if isinstance(document.get("rwlock"), list):
        rwlock, of_rwlocks = _rwlock_entries(path, document)
        entries += of_rwlocks
    else:
        rwlock = _text(str(path), document, "rwlock")
        if rwlock is not None:
            check_replacement(f"{path}: rwlock", RWLOCK, rwlock)
    return Plan(
        path,
        _locks(str(path), document.get("lock", BASELINE), check_mutex_lock),
        tuple(entries),
        rwlock,
    )


def _tables(path: Path, document: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise LockwrightError(f"{path}: {name} is not a table", f"begin each with [[{name}]]")
    return tables


def _rwlock_entries(path: Path, document: Mapping[str, Any]) -> tuple[str | None, list[Entry]]:
    """Return the lock of the table that chooses no reader-writer lock, or None, and the entries of
    the others."""
    rwlock: str | None = None
    entries = []
    for number, table in enumerate(_tables(path, document, "rwlock"), 1):
        if table.keys() != {"lock"}:
            entries.append(_entry(path, "rwlock", number, table, _check_rwlock))
            continue
        context = f"{path}, [[rwlock]] {number}"
        if rwlock is not None:
            raise LockwrightError(
                f"{context} is the second for all reader-writer locks",
                "leave one of them out, or give it a symbol, site, library, rank or ordinal",
            )
        rwlock = _text(context, table, "lock")
        _check_rwlock(context, rwlock or "")
    return rwlock, entries


def _entry(
    path: Path,
    kind: str,
    number: int,
    table: Mapping[str, Any],
    check_lock: Callable[[str, str], None],
) -> Entry:
    context = f"{path}, [[{kind}]] {number}"
    _check_keys(context, table, _KEYS)
    if "lock" not in table:
        example = "mcs-stp" if kind == "mutex" else "phase-fair"
        raise LockwrightError(f"{context} has no lock", f'give it one, as in lock = "{example}"')
    text = {key: _text(context, table, key) for key in ("symbol", "site", "library", "profile")}
    rank, ordinal = (_number(context, table, key, least) for key, least in _LEAST.items())
    choices = [key for key in ("symbol", "site", "rank") if key in table]
    if not choices and text["library"] is None and ordinal is None:
        raise LockwrightError(
            f"{context} does not say which {SUBJECTS[kind][0]}",
            "give it a symbol, site, library, rank or ordinal",
        )
    if len(choices) > 1:
        raise LockwrightError(
            f"{context} has both a {choices[0]} and a {choices[1]}", "write a table for each"
        )
    if (rank is None) != (text["profile"] is None):
        missing = "rank" if rank is None else "profile"
        raise LockwrightError(
            f"{context} has no {missing}",
            "a rank is one of a profile's mutexes or reader-writer locks: give both",
        )
    if rank is not None and (ordinal is not None or text["library"] is not None):
        raise LockwrightError(
            f"{context} has more than a rank", "the profile contains the rest: leave it out"
        )
    profile = text["profile"]
    return Entry(
        kind,
        number,
        _locks(context, table["lock"], check_lock),
        symbol=text["symbol"],
        site=text["site"],
        in_library=text["library"],
        profile=None if profile is None else path.parent / profile,
        rank=rank,
        ordinal=ordinal,
    )


_LEAST = {"rank": 1, "ordinal": 0}


def _check_keys(context: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    from difflib import get_close_matches

    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            todo = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
            raise LockwrightError(f"{context}: a plan has no '{key}' there", todo)


def _text(context: str, table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise LockwrightError(f"{context}: {key} must be a string", f'write it as {key} = "…"')
    return value


def _number(context: str, table: Mapping[str, Any], key: str, least: int) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise LockwrightError(f"{context}: {key} must be a whole number, at least {least}", _HOW)
    return value


def _locks(context: str, value: Any, check_lock: Callable[[str, str], None]) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) for name in names):
        raise LockwrightError(f"{context}: lock is not the name of a lock", "see 'lockwright list'")
    for name in names:
        check_lock(context, name)
    return tuple(names)


def _mutex_lock_check(registry: Registry) -> Callable[[str, str], None]:
    """Return a function that raises LockwrightError if a name is no lock of the registry."""

    def check(context: str, name: str) -> None:
        if name == BASELINE:
            return
        try:
            registry.find(name)
        except LockwrightError as error:
            raise LockwrightError(f"{context}: {error.what}", error.todo) from error

    return check


def _check_rwlock(context: str, name: str) -> None:
    check_replacement(f"{context}: lock", RWLOCK, name)
    if name == MUTEX:
        raise LockwrightError(
            f"{context}: a plan has several locks, so none of them is the lock of 'mutex'",
            f"name a reader-writer lock, or '{KEEP}' for the C library's",
        )
