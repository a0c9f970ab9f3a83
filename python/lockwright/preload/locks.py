"""The registry of locks as the build wrote it, and where their libraries lie."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError

BASELINE = "pthread"
"""Every ratio is to this lock: the C library's own mutex through the same layer."""


BY_PRIORITY, OWN_ORDER, STARVES = "by priority", "own order", "starves"
"""What a lock may do where threads have real-time priorities: Lock.realtime."""

APPEND = {"cond": "LOCKWRIGHT_COND_APPEND", "sem": "LOCKWRIGHT_SEM_APPEND"}
"""The variables that say which share of its waiters a condition variable or a semaphore appends."""

RWLOCK = "LOCKWRIGHT_RWLOCK"
"""The variable that says what becomes of reader-writer locks."""

SPIN = "LOCKWRIGHT_SPIN"
"""The variable that says what becomes of spin locks."""

SPIN_ROOM = 2
"""Bytes of a spin lock in which a lock has to fit that takes its place."""

WAYS = {"rwlock": (RWLOCK, ("keep", "mutex", "phase-fair")), "spin": (SPIN, ("keep", "mutex"))}
"""Options that say what becomes of other locks than mutexes: their variables and words."""

RESTRICTING = "1/1000"
"""The share with which only as many threads stay active as are needed, and all get their turn."""

_SHARE = re.compile(r"0|1|1/[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class Tunable:
    """One number of an algorithm, which an environment variable sets."""

    name: str
    variable: str
    default: int
    unit: str
    least: int
    most: int
    meaning: str
    source: str

    @property
    def shared(self) -> str:
        """The variable that sets the numbers of this name of every lock."""
        return "LOCKWRIGHT_" + self.name.upper().replace("-", "_")

    def shown(self, value: int | None = None) -> str:
        """A value, or else the default, with its unit."""
        number = f"{self.default if value is None else value:,}"
        return f"{self.unit} {number}" if self.unit == "one in" else f"{number} {self.unit}".strip()

    def check(self, variable: str, value: str) -> None:
        """Raises LockwrightError if `value` is no value for it; '' is the default's."""
        if value and not (
            value.isascii() and value.isdigit() and self.least <= int(value) <= self.most
        ):
            raise LockwrightError(
                f"{variable}='{value}' is not a number from {self.least} to {self.most}",
                f"it is {self.meaning}; the default is {self.shown()}",
            )


@dataclass(frozen=True)
class Suitability:
    """That a lock suits a case. rank: 1 is tried first; why: in a few words, with the source."""

    case: str
    rank: int
    why: str


@dataclass(frozen=True)
class Lock:
    """One algorithm: a row of locks.json. Sizes are in bytes. realtime: BY_PRIORITY, OWN_ORDER or
    STARVES. atomics: read-modify-writes of an uncontended lock and unlock, where it is light."""

    name: str
    header: str
    category: str
    waiting: str
    realtime: str
    fifo: bool
    light: bool
    parking: bool
    numa_aware: bool
    hardened_trylock: bool
    trylock: str
    timedlock: str
    bytes_in_place: int
    bytes_per_mutex_outside: int
    bytes_per_node: int
    yields: bool
    low_traffic: bool
    survives_oversubscription: bool
    atomics: tuple[int, int]
    suits: tuple[Suitability, ...]
    tunables: tuple[Tunable, ...]
    reference: str
    summary: str

    def suitability(self, case: str) -> Suitability | None:
        """What the lock states about a case; None if nothing."""
        return next((each for each in self.suits if each.case == case), None)

    def properties(self) -> list[str]:
        """The yes/no properties that this lock has, as words."""
        named = {
            "FIFO": self.fifo,
            "by priority": self.realtime == BY_PRIORITY,
            "light": self.light,
            "parks": self.parking,
            "NUMA-aware": self.numa_aware,
            "hardened trylock": self.hardened_trylock,
            "yields": self.yields,
            "low traffic": self.low_traffic,
        }
        return [word for word, has in named.items() if has]


class Registry:
    """All locks of one directory of libraries, in registry order."""

    def __init__(self, directory: Path, rows: Sequence[dict[str, object]]) -> None:
        """Takes the rows of locks.json and the directory that it lies in."""
        self.directory = directory
        self.rows = list(rows)
        known = {field.name for field in fields(Lock)}
        # A later build may say more about a lock than this code knows.
        self._locks = {
            str(row["name"]): Lock(**{k: v for k, v in row.items() if k in known})  # type: ignore[arg-type]
            for row in map(_with_parts, rows)
        }

    def __iter__(self) -> Iterator[Lock]:
        """The locks in registry order."""
        return iter(self._locks.values())

    @property
    def names(self) -> list[str]:
        """All names in registry order."""
        return list(self._locks)

    def find(self, name: str) -> Lock:
        """The lock of that name. Raises LockwrightError, with the nearest name, if none has it."""
        if name in self._locks:
            return self._locks[name]
        raise LockwrightError(f"no lock is named '{name}'", _nearest_or_list(name, self.names))

    def check_environment(self, name: str, environment: Mapping[str, str]) -> None:
        """Raises LockwrightError if a variable there sets a number of that lock to nonsense."""
        lock = self.find(name)
        for variable in APPEND.values():
            value = environment.get(variable, "")
            if value and not _SHARE.fullmatch(value):
                raise LockwrightError(
                    f"{variable}='{value}' is not 0, 1 or 1/N",
                    "it is the share of the waiters that queue at the end; "
                    "1 is first come, first served",
                )
        for variable, _ in WAYS.values():
            check_way(variable, variable, environment.get(variable, "keep") or "keep")
        if environment.get(SPIN) == "mutex":
            self._check_fits_spin(lock)
        for each in lock.tunables:
            for variable in (each.variable, each.shared):
                each.check(variable, environment.get(variable, ""))
        every = {each.variable for other in self for each in other.tunables}
        prefix = "LOCKWRIGHT_" + name.upper().replace("-", "_") + "_"
        for variable in environment:
            if variable.startswith(prefix) and variable not in every:
                own = ", ".join(each.variable for each in lock.tunables)
                raise LockwrightError(
                    f"{variable} sets nothing",
                    f"{name} has {own}" if own else f"{name} has no numbers to set; unset it",
                )

    def _check_fits_spin(self, lock: Lock) -> None:
        fitting = [each.name for each in self if each.bytes_in_place <= SPIN_ROOM]
        # The counterpart of the C library's mutex is its spin lock.
        if lock.name not in (*fitting, BASELINE):
            raise LockwrightError(
                f"{lock.name} takes {lock.bytes_in_place} bytes and has {SPIN_ROOM} in a spin lock",
                f"leave out --spin mutex, or choose from {', '.join(fitting)}",
            )

    def path_of(self, name: str, *, counting: bool = False) -> Path:
        """Absolute path of the library to preload. Raises LockwrightError if it cannot be."""
        return self._library(self.find(name).name, counting)

    def path_of_mixed(self, *, counting: bool = False) -> Path:
        """The same of the library in which each mutex has a lock of its own, by a plan."""
        return self._library("mixed", counting)

    def _library(self, name: str, counting: bool) -> Path:
        folder = self.directory / "counting" if counting else self.directory
        path = folder / f"liblockwright-{name}.so"
        if not path.is_file():
            raise LockwrightError(f"{path} is missing", "build or install Lockwright again")
        check_preloadable(path)
        return path


def check_way(named: str, variable: str, value: str) -> None:
    """Raises LockwrightError, with the nearest, if `value` is no word of that variable.

    named: what the user called it, an option or the variable itself.
    """
    words = next(words for each, words in WAYS.values() if each == variable)
    if value not in words:
        listed = f"{', '.join(words[:-1])} or {words[-1]}"
        raise LockwrightError(f"{named}='{value}' is not {listed}", _nearest_or_list(value, words))


def choose_ways(environment: dict[str, str], chosen: Mapping[str, str | None]) -> None:
    """Sets the variables of the options that were given. Raises LockwrightError for other words."""
    for option, value in chosen.items():
        if value is not None:
            variable, _ = WAYS[option]
            check_way(f"--{option}", variable, value)
            environment[variable] = value


def options_of(environment: Mapping[str, str]) -> list[str]:
    """The options that say what becomes of other locks as the environment does, to be printed."""
    found = []
    for option, (variable, words) in WAYS.items():
        value = environment.get(variable) or words[0]
        if value != words[0]:
            found += [f"--{option}", value]
    return found


def check_plan_ways(environment: Mapping[str, str], instead: str) -> None:
    """Raises LockwrightError if locks that are no mutexes are to become what a plan does not name.

    instead: how to go on without a plan.
    """
    for option, what, other in (
        ("rwlock", "reader-writer locks", ", take --rwlock phase-fair"),
        ("spin", "spin locks", ""),
    ):
        variable, _ = WAYS[option]
        if environment.get(variable) == "mutex":
            raise LockwrightError(
                f"--{option} mutex puts the lock in the place of {what}, but a plan has several,"
                " and says of mutexes only which",
                f"leave it out{other}, or {instead}",
            )


def _with_parts(row: Mapping[str, Any]) -> dict[str, object]:
    return {
        **row,
        "atomics": tuple(row["atomics"]),
        "suits": tuple(Suitability(**each) for each in row["suits"]),
        "tunables": tuple(Tunable(**each) for each in row["tunables"]),
    }


def _nearest_or_list(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    typed = name.lower().replace("_", "-")
    # `mcs` means one of the kinds of mcs, however near another name is.
    near = [each for each in names if typed and each.startswith(f"{typed}-")]
    near = near or get_close_matches(typed, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(repr(each) for each in near)}?"
    return f"choose from {', '.join(names)}"


def directory() -> Path:
    """The directory of the libraries: $LOCKWRIGHT_LIBDIR, or the one inside the package."""
    declared = os.environ.get("LOCKWRIGHT_LIBDIR")
    if declared:
        return Path(declared).absolute()
    import lockwright

    # An editable install has two directories: the sources, and what was built.
    places = [Path(place) / "lib" for place in lockwright.__path__]
    for place in places:
        if (place / "locks.json").is_file():
            return place.absolute()
    return places[0].absolute()


def headers() -> Path:
    """The directory to give a compiler for lockwright/pthread.h."""
    import lockwright

    places = [Path(place) / "include" for place in lockwright.__path__]
    for place in places:
        if (place / "lockwright" / "pthread.h").is_file():
            return place.absolute()
    raise LockwrightError(
        f"{places[0]}/lockwright/pthread.h is missing", "build or install Lockwright again"
    )


def missing_advice() -> str:
    """What to do where a file of the directory of the libraries cannot be read."""
    if os.environ.get("LOCKWRIGHT_LIBDIR"):
        return "point LOCKWRIGHT_LIBDIR at a directory that holds it, or unset it"
    return "build or install Lockwright again"


def registry(place: Path | None = None) -> Registry:
    """Reads locks.json. Raises LockwrightError if it is missing or not what the build wrote.

    place: the directory of the libraries, if not the usual one.
    """
    place = place or directory()
    source = place / "locks.json"
    try:
        rows = json.loads(source.read_text(encoding="utf-8"))
        return Registry(place, rows)
    except OSError as error:
        raise LockwrightError(
            f"cannot read {source}: {error.strerror}", missing_advice()
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LockwrightError(
            f"{source} is not a registry of locks ({error})", "build or install Lockwright again"
        ) from error


def preload(
    library: Path, environment: Mapping[str, str], program: Path | None = None
) -> dict[str, str]:
    """`environment` with `library` first in LD_PRELOAD, before what was there already.

    Only the library of a sanitizer comes before it: the one that `program` is built with, if it is
    given, and those that were there already, with what came before them.
    """
    from lockwright.preload import binary

    # As the dynamic linker takes it apart.
    present = [word for word in re.split("[ :]", environment.get("LD_PRELOAD", "")) if word]
    ends = [at for at, word in enumerate(present, 1) if binary.is_sanitizer(word)]
    first, rest = present[: max(ends, default=0)], present[max(ends, default=0) :]
    own = None if program is None else binary.sanitizer(program)
    if own is not None and own not in {Path(word).name for word in first}:
        first.insert(0, own)
    return dict(environment) | {"LD_PRELOAD": ":".join([*first, str(library), *rest])}


def check_preloadable(library: Path) -> None:
    """Raises LockwrightError if LD_PRELOAD cannot name a library."""
    if any(separator in str(library) for separator in " :"):
        # The dynamic linker splits it at both and knows no escape.
        raise LockwrightError(
            f"'{library}' has a space or a colon in it, so it cannot be preloaded",
            "install Lockwright under a path without either",
        )
