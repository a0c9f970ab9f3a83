"""The registry of locks as the build wrote it, and the paths of their libraries."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from lockwright.base.errors import LockwrightError

_T = TypeVar("_T")

BASELINE = "pthread"
"""The reference of every ratio: the C library's mutex through the same layer."""

BY_PRIORITY, OWN_ORDER, STARVES = "by priority", "own order", "starves"
"""Values of Lock.realtime: the behaviour of a lock if threads have real-time priorities."""

APPEND = {"cond": "LOCKWRIGHT_COND_APPEND", "sem": "LOCKWRIGHT_SEM_APPEND"}
"""Variables that set the share of waiters that a condition variable or semaphore appends."""

RWLOCK = "LOCKWRIGHT_RWLOCK"
"""The variable that selects the implementation of reader-writer locks."""

SHARES = {"adaptive": "adaptive", "cr": "1/1000"}
"""Values of these variables by the words of `--cond` and `--sem`; "cr", restricted concurrency,
starves no thread."""

KEPT = {"rwlock": (RWLOCK, "keep"), "cond": (APPEND["cond"], "1"), "sem": (APPEND["sem"], "keep")}
"""The variables and values that take a piece of the default away, by the words of `--keep`."""

DEFAULT = "default"
"""The name of what `lockwright run` puts in place without an option, liblockwright.so."""

DEFAULT_LOCK, DEFAULT_RWLOCK = "adaptive", "adaptive-rw"
"""The lock that has `is_default`, and the reader-writer lock to use where neither is chosen."""

SPIN = "LOCKWRIGHT_SPIN"
"""The variable that selects the implementation of spin locks."""

METRICS = "LOCKWRIGHT_METRICS"
"""The variable that makes a lock's library count waits, unless it is empty."""

SPIN_BYTES = 2
"""Bytes of a spin lock that are available to the lock that replaces it."""

REPLACEMENTS = {"rwlock": RWLOCK, "spin": SPIN}
"""Options for locks other than mutexes, and their variables."""

_SHARE = re.compile(r"0|1|1/[1-9][0-9]{0,8}|adaptive")


@dataclass(frozen=True)
class Tunable:
    """A parameter of an algorithm, which an environment variable sets."""

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
        """The variable that sets the parameter of this name of every lock."""
        return "LOCKWRIGHT_" + self.name.upper().replace("-", "_")

    def with_unit(self, value: int | None = None) -> str:
        """Return a value, or else the default, with its unit."""
        number = f"{self.default if value is None else value:,}"
        return f"{self.unit} {number}" if self.unit == "one in" else f"{number} {self.unit}".strip()

    def check(self, variable: str, value: str) -> None:
        """Raise LockwrightError if `value` is not valid; '' stands for the default."""
        if value and not (
            value.isascii() and value.isdigit() and self.least <= int(value) <= self.most
        ):
            raise LockwrightError(
                f"{variable}='{value}' is not a number from {self.least} to {self.most}",
                f"it is {self.meaning}; the default is {self.with_unit()}",
            )


@dataclass(frozen=True)
class Suitability:
    """The suitability of a lock for a case. rank: 1 is the best; why: the reason and its source."""

    case: str
    rank: int
    why: str


@dataclass(frozen=True)
class Lock:
    """An algorithm: a row of locks.json. Sizes are in bytes. realtime: BY_PRIORITY, OWN_ORDER or
    STARVES. atomics: read-modify-writes of an uncontended lock and unlock, if it is light."""

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
    is_default: bool
    patents: str
    tunables: tuple[Tunable, ...]
    reference: str
    summary: str

    @property
    def use_cases(self) -> tuple[Suitability, ...]:
        """The lock's statements about use cases."""
        return self.suits

    def system_calls(self) -> list[str]:
        """Return the system calls that a lock, trylock or unlock of this algorithm may make until a
        sandbox begins; from then on futex is the only one."""
        # A thread of hemlock has a node of its own.
        has_memory = (
            self.bytes_per_node > 0 or self.bytes_per_mutex_outside > 0 or self.name == "hemlock"
        )
        # A thread that waits for another thread's link in a queue of sleepers yields.
        links = self.parking and self.bytes_per_node > 0
        reads = (self.numa_aware and not self.is_default) or self.name == "partitioned"
        made = {
            "futex": self.parking or self.bytes_per_mutex_outside > 0,
            "sched_yield": self.yields
            or links
            or reads
            or self.bytes_per_mutex_outside > 0
            or self.name == "ticket-ls",
            "mmap, munmap": has_memory,
            "madvise": self.bytes_per_mutex_outside > 0
            or self.name in ("parking-lot", "twa", "hapax"),
            "membarrier": self.name.startswith("biased-"),
            "openat, read, close": reads or self.name == "glk",
            "getpid": reads,
        }
        return [name for names, is_made in made.items() if is_made for name in names.split(", ")]

    def properties(self) -> list[str]:
        """Return the names of this lock's yes/no properties."""
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
        """directory: that of locks.json. rows: its content."""
        self.directory = directory
        self.rows = list(rows)
        known = {field.name for field in fields(Lock)}
        # A later build may write fields that this code does not read.
        self._locks = {
            row["name"]: Lock(**{k: v for k, v in row.items() if k in known})
            for row in (with_parts(row, "suits") for row in rows)
        }

    def __iter__(self) -> Iterator[Lock]:
        return iter(self._locks.values())

    @property
    def names(self) -> list[str]:
        """All names in registry order."""
        return list(self._locks)

    def find(self, name: str) -> Lock:
        """Return the lock of that name. Raises LockwrightError with the closest name."""
        if name in self._locks:
            return self._locks[name]
        raise LockwrightError(f"no lock is named '{name}'", _nearest_or_list(name, self.names))

    @property
    def default(self) -> Lock:
        """The lock to use where none is chosen. Raises LockwrightError if it was not built."""
        for lock in self:
            if lock.is_default:
                return lock
        raise LockwrightError(
            "no lock of this build is the default one",
            "name one with --lock; see 'lockwright list'",
        )

    def check_environment(self, name: str, environment: Mapping[str, str]) -> None:
        """Raise LockwrightError if a variable of that lock has an invalid value."""
        lock = self.find(name)
        for variable in APPEND.values():
            value = environment.get(variable, "")
            is_kept = (variable, value) == KEPT["sem"]
            if value and not is_kept and not _SHARE.fullmatch(value):
                raise LockwrightError(
                    f"{variable}='{value}' is not 0, 1 or 1/N",
                    "it is the share of the waiters that queue at the end; "
                    "1 is first come, first served",
                )
        for variable in REPLACEMENTS.values():
            check_replacement(variable, variable, environment.get(variable, ""))
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
                    f"{name} has {own}" if own else f"{name} has no parameters; unset it",
                )

    def _check_fits_spin(self, lock: Lock) -> None:
        fitting = [each.name for each in self if each.bytes_in_place <= SPIN_BYTES]
        # The counterpart of the C library's mutex is its spin lock.
        if lock.name not in (*fitting, BASELINE):
            raise LockwrightError(
                f"{lock.name} takes {lock.bytes_in_place} bytes, and a spin lock has {SPIN_BYTES}",
                f"leave out --spin mutex, or choose from {', '.join(fitting)}",
            )

    def path_of(self, name: str, *, counting: bool = False) -> Path:
        """Return the absolute path of the library of a lock or of DEFAULT, which has none that
        counts. Raises LockwrightError."""
        if name == DEFAULT and not counting:
            return self._existing(self.directory / "liblockwright.so")
        return self._library(self.find(name).name, counting)

    def path_of_mixed(self, *, counting: bool = False) -> Path:
        """Return the path of the library that gives each mutex its own lock, by a plan."""
        return self._library("mixed", counting)

    def _library(self, name: str, counting: bool) -> Path:
        folder = self.directory / "counting" if counting else self.directory
        return self._existing(folder / f"liblockwright-{name}.so")

    def _existing(self, path: Path) -> Path:
        if not path.is_file():
            raise LockwrightError(f"{path} is missing", "build or install Lockwright again")
        check_preloadable(path)
        return path


def replacements_of(variable: str) -> tuple[str, ...]:
    """Return the values of a variable of REPLACEMENTS, the default first. Raises
    LockwrightError if the registry of reader-writer locks cannot be read."""
    if variable == SPIN:
        return ("keep", "mutex")
    source = directory() / "rwlocks.json"
    return read_rows(source, lambda rows: ("keep", "mutex", *(row["name"] for row in rows)))


def check_replacement(setting: str, variable: str, value: str) -> None:
    """Raise LockwrightError, with the closest value, if `value` is not one of that variable.
    setting: the option or variable that the user set. value: '' stands for the default."""
    if value in ("", "keep", "mutex"):
        return
    words = replacements_of(variable)
    if value not in words:
        raise LockwrightError(f"{setting}='{value}' is unknown", _nearest_or_list(value, words))


def set_replacements(environment: dict[str, str], chosen: Mapping[str, str | None]) -> None:
    """Set the variables of the given options. Raises LockwrightError for invalid values."""
    for option, value in chosen.items():
        if value is not None:
            variable = REPLACEMENTS[option]
            check_replacement(f"--{option}", variable, value)
            environment[variable] = value


def options_of(environment: Mapping[str, str]) -> list[str]:
    """Return the command-line options that correspond to these variables of an environment."""
    options = []
    for option, variable in REPLACEMENTS.items():
        value = environment.get(variable) or "keep"
        if value != "keep":
            options += [f"--{option}", value]
    return options


def check_plan_replacements(environment: Mapping[str, str], instead: str) -> None:
    """Raise LockwrightError if the environment replaces other locks than mutexes: a plan has
    several locks. instead: the advice for a run without a plan."""
    for option, what, alternative in (
        ("rwlock", "reader-writer locks", ", use --rwlock phase-fair"),
        ("spin", "spin locks", ""),
    ):
        if environment.get(REPLACEMENTS[option]) == "mutex":
            raise LockwrightError(
                f"--{option} mutex replaces {what} by the lock, but a plan has several locks"
                " and assigns them to mutexes only",
                f"leave it out{alternative}, or {instead}",
            )


def with_parts(row: Mapping[str, Any], use_cases: str) -> dict[str, Any]:
    """Return a row of a registry with its use cases and parameters as objects. use_cases: the key
    of the use cases."""
    return {
        **row,
        use_cases: tuple(Suitability(**each) for each in row[use_cases]),
        "tunables": tuple(Tunable(**each) for each in row["tunables"]),
    }


def _nearest_or_list(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    typed = name.lower().replace("_", "-")
    # `mcs` means a variant of mcs, even if another name is closer.
    near = [each for each in names if typed and each.startswith(f"{typed}-")]
    near = near or get_close_matches(typed, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(repr(each) for each in near)}?"
    return f"choose from {', '.join(names)}"


def directory() -> Path:
    """Return the directory of the libraries: $LOCKWRIGHT_LIBDIR, or the one in the package."""
    declared = os.environ.get("LOCKWRIGHT_LIBDIR")
    if declared:
        return Path(declared).absolute()
    return package_folder("lib", "locks.json")


def headers() -> Path:
    """Return the directory to give a compiler for lockwright/pthread.h."""
    return package_folder("include", "lockwright/pthread.h")


def package_folder(name: str, file: str, package: str = "lockwright") -> Path:
    """Return the directory `name` of an imported package that contains `file`. Raises
    LockwrightError."""
    # An editable install has two directories: that of the sources and that of the build.
    folders = [Path(folder) / name for folder in sys.modules[package].__path__]
    for folder in folders:
        if (folder / file).is_file():
            return folder.absolute()
    raise LockwrightError(f"{folders[0]}/{file} is missing", "build or install Lockwright again")


def missing_advice() -> str:
    """Return the advice if a file of the directory of the libraries cannot be read."""
    if os.environ.get("LOCKWRIGHT_LIBDIR"):
        return "point LOCKWRIGHT_LIBDIR at a directory that contains it, or unset it"
    return "build or install Lockwright again"


def registry(folder: Path | None = None) -> Registry:
    """Read locks.json. Raises LockwrightError if it is missing or malformed. folder: the directory
    of the libraries; None for `directory()`."""
    folder = folder or directory()
    return read_rows(folder / "locks.json", lambda rows: Registry(folder, rows))


def read_rows(source: Path, convert: Callable[[list[dict[str, Any]]], _T]) -> _T:
    """Return convert(the rows of a registry). Raises LockwrightError if it is missing or
    malformed."""
    try:
        return convert(json.loads(source.read_text(encoding="utf-8")))
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
    """Return `environment` with `library` first in LD_PRELOAD.

    A path with a space is passed as a file name, its directory in LD_LIBRARY_PATH.

    Only sanitizers precede it: the one that `program` is built with, if given, and those already in
    LD_PRELOAD, with the entries before them.
    """
    from lockwright.preload import binary

    # The dynamic linker splits it in the same way.
    present = [word for word in re.split("[ :]", environment.get("LD_PRELOAD", "")) if word]
    ends = [index for index, word in enumerate(present, 1) if binary.is_sanitizer(word)]
    first, rest = present[: max(ends, default=0)], present[max(ends, default=0) :]
    of_program = None if program is None else binary.sanitizer(program)
    if of_program is not None and of_program not in {Path(word).name for word in first}:
        first.insert(0, of_program)
    name, search = str(library), {}
    if " " in name:
        # LD_PRELOAD is split at spaces, LD_LIBRARY_PATH is not.
        name = library.name
        paths = [str(library.parent), environment.get("LD_LIBRARY_PATH", "")]
        search = {"LD_LIBRARY_PATH": ":".join(path for path in paths if path)}
    return dict(environment) | {"LD_PRELOAD": ":".join([*first, name, *rest])} | search


def check_preloadable(library: Path) -> None:
    """Raise LockwrightError if LD_PRELOAD cannot name a library."""
    if any(separator in str(library) for separator in ":;"):
        # The dynamic linker splits there, and has no escape.
        raise LockwrightError(
            f"'{library}' contains a colon or a semicolon, so it cannot be preloaded",
            "install Lockwright under a path without either",
        )
