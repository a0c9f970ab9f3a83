"""The plan of a comparison, which is checked before any run."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lockwright.base import template
from lockwright.base.errors import LockwrightError
from lockwright.compare.arms import lock_of
from lockwright.experiment import Cell, Summary
from lockwright.preload.locks import BASELINE, DEFAULT_LOCK, RWLOCK, Registry, check_replacement
from lockwright.preload.other_libraries import OtherLibrary
from lockwright.preload.rwlocks import DEFAULT, KEEP, MUTEX, pair_name, parts_of, rwlocks

UNSPECIFIED = 0
"""The number of threads of a command without {threads}."""
_MOST_THREADS = 100_000
_MOST_RUNS = 100_000
_METRIC_EXAMPLE = "--metric 'rate: ([0-9.]+)'"
OPTIONS = {"other_libraries": "preload", "dimensions": "with"}
"""Options whose names are not those of the fields."""


def cell_name(threads: int) -> str:
    """Return the name of the cell for a number of threads, which may be UNSPECIFIED."""
    if threads == UNSPECIFIED:
        return ""
    return f"{threads} thread{'' if threads == 1 else 's'}"


def threads_of(row: Summary) -> int:
    """Return the number of threads of a row's cell; UNSPECIFIED for a command without one."""
    return row.of_cell.options["threads"] or UNSPECIFIED


def at_threads(threads: int) -> str:
    """Return ` at N threads`, or "" for a command without a number of threads."""
    return "" if threads == UNSPECIFIED else f" at {cell_name(threads)}"


@dataclass(frozen=True)
class Plan:
    """A comparison. timeout: seconds per run; metric: None for the wall time in seconds.

    locks: the compared locks, or pairs of a lock and a reader-writer lock, followed by the names of
    other_libraries, which are not Lockwright's; energy, counters: whether they are measured too.
    budget: seconds in which locks are tried and dropped, None if every lock makes all runs; margin:
    the smallest difference that matters then. reserves: locks that join only if a search chooses
    them or their parts lead. reference: the lock that ratios are relative to; kept: others that
    take part to the end; dimensions: what is searched besides locks.
    """

    command: tuple[str, ...]
    locks: tuple[str, ...]
    threads: tuple[int, ...]
    runs: int
    warmup: int
    metric: str | None
    unit: str
    lower_is_better: bool
    timeout: float
    prepare: str | None
    other_libraries: tuple[OtherLibrary, ...] = ()
    energy: bool = False
    counters: bool = False
    budget: float | None = None
    margin: float = 0.05
    reserves: tuple[str, ...] = ()
    reference: str = BASELINE
    kept: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        """A cell of the experiment for each number of threads."""
        return [
            Cell(cell_name(threads), {"threads": None if threads == UNSPECIFIED else threads})
            for threads in self.threads
        ]

    def argv(self, threads: int) -> list[str]:
        if threads == UNSPECIFIED:
            return list(self.command)
        return [template.expand(word, threads) for word in self.command]

    def preparation(self, threads: int) -> str | None:
        """Return the shell command to run before each run."""
        if self.prepare is None or threads == UNSPECIFIED:
            return self.prepare
        return template.expand(self.prepare, threads)

    @property
    def runs_description(self) -> str:
        """The number of runs of each lock, in words."""
        if self.budget is not None:
            return (
                f"every lock run in rounds until it is shown to be worse, {self.budget:g} s at most"
            )
        warmup = f"{self.warmup} warm-up" if self.warmup else "no warm-up"
        return f"{self.runs} runs of each lock, {warmup}"

    @property
    def precision_advice(self) -> str:
        """The option that narrows the confidence intervals, in words."""
        return "more --runs" if self.budget is None else "a larger --budget"

    def path_of(self, lock: str, registry: Registry) -> Path:
        """Return the library to preload for a lock or for another library's name."""
        library = self.other_library(lock)
        return library.path if library else registry.path_of(parts_of(lock_of(lock))[0])

    @property
    def rwlocks(self) -> tuple[str, ...]:
        """The reader-writer locks of `locks`, without the C library's."""
        names = [lock for lock in self.locks if self.other_library(lock) is None]
        found = dict.fromkeys(parts_of(lock_of(lock))[1] for lock in names)
        return tuple(rwlock for rwlock in found if rwlock != KEEP)

    @property
    def names_rwlocks(self) -> bool:
        """Whether a reader-writer lock was named, other than by DEFAULT."""
        names = [lock_of(each) for each in self.locks if self.other_library(each) is None]
        return any(parts_of(each)[1] != KEEP for each in names if each != DEFAULT)

    def other_library(self, lock: str) -> OtherLibrary | None:
        """Return the other library of that name; None if it names a lock."""
        return next((library for library in self.other_libraries if library.name == lock), None)

    def stored(self) -> dict[str, Any]:
        """Return the plan in its stored form, of types of JSON, which is equal for equal plans."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        document["threads"] = [threads or None for threads in self.threads]
        document["other_libraries"] = {each.name: str(each.path) for each in self.other_libraries}
        return document

    @classmethod
    def from_stored(cls, document: Mapping[str, Any]) -> "Plan":
        """Return the plan of a stored form. Raises an error of Python if it is damaged."""
        fields = dict(document)
        for name in ("command", "locks", "reserves", "kept", "dimensions"):
            fields[name] = tuple(fields[name])
        fields["threads"] = tuple(threads or UNSPECIFIED for threads in fields["threads"])
        fields["other_libraries"] = tuple(
            OtherLibrary(name, Path(path)) for name, path in fields["other_libraries"].items()
        )
        return cls(**fields)


def choose_locks(text: str, registry: Registry) -> tuple[tuple[str, ...], bool]:
    """Return the locks that a comma-separated list names, and whether the baseline was added.
    Raises LockwrightError if one is unknown or none is named."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = []
    for part in parts:
        if part == DEFAULT:
            _check_default()
            names.append(part)
        else:
            names += registry.names if part == "all" else [registry.find(part).name]
    names = list(dict.fromkeys(names))
    if not names:
        raise LockwrightError("--locks names no lock", "name some, or use --locks all")
    if BASELINE in names:
        return tuple(names), False
    registry.find(BASELINE)
    return (BASELINE, *names), True


def _check_default() -> None:
    if os.environ.get(RWLOCK):
        raise LockwrightError(
            f"'{DEFAULT}' has a reader-writer lock of its own, and {RWLOCK} or --rwlock names one",
            f"leave that out, or name {DEFAULT_LOCK} in place of {DEFAULT}",
        )


def choose_rwlocks(text: str) -> tuple[str, ...]:
    """Return the reader-writer locks that a comma-separated list names, after the C library's.
    Raises LockwrightError if one is unknown."""
    names = [KEEP]
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == "all":
            names += rwlocks()
        else:
            check_replacement("--rwlocks", RWLOCK, part)
            names.append(part)
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        raise LockwrightError(
            f"--rwlocks {text} names no lock beside the C library's, {KEEP}",
            f"name {MUTEX} or those of 'lockwright list --reader-writer', or use --rwlocks all",
        )
    return tuple(names)


def crossed(locks: Iterable[str], rwlocks_of_each: Iterable[str]) -> tuple[str, ...]:
    """Return each lock together with each reader-writer lock; DEFAULT, which has one, alone."""
    others = list(rwlocks_of_each)
    return tuple(
        dict.fromkeys(
            lock if lock == DEFAULT else pair_name(lock, rwlock)
            for lock in locks
            for rwlock in others
        )
    )


def choose_threads(text: str | None) -> tuple[int, ...]:
    """Return the thread counts of a comma-separated list. Raises LockwrightError for bad ones."""
    if text is None:
        return (UNSPECIFIED,)
    counts = []
    for part in text.split(","):
        word = part.strip()
        # isdecimal alone would accept digits of other scripts.
        if not (word.isascii() and word.isdecimal()) or not 1 <= int(word) <= _MOST_THREADS:
            raise LockwrightError(
                f"--threads {text}: '{word}' is not a number of threads",
                f"give whole numbers from 1 to {_MOST_THREADS} with commas, as in 2,4,16",
            )
        counts.append(int(word))
    return tuple(dict.fromkeys(counts))


def check(plan: Plan) -> None:
    """Check the plan. Raises LockwrightError if it cannot be carried out."""
    for option, number, least in (("--runs", plan.runs, 1), ("--warm-up-runs", plan.warmup, 0)):
        if not least <= number <= _MOST_RUNS:
            bounds = f"from {least} to {_MOST_RUNS}"
            raise LockwrightError(f"{option} must be {bounds}", f"it is {number}")
    if plan.budget is not None and not (math.isfinite(plan.budget) and plan.budget > 0):
        raise LockwrightError("--budget must be greater than 0", "give a time as in 5m or 90s")
    if not 0 < plan.margin < 1:
        raise LockwrightError(
            "--margin must be greater than 0 and less than 1", f"it is {plan.margin:g}"
        )
    if plan.metric is not None:
        check_pattern(plan.metric)
    words = [*plan.command, plan.prepare or ""]
    used = template.uses_threads(words)
    if used and UNSPECIFIED in plan.threads:
        raise LockwrightError(
            "the command has a placeholder for threads, but --threads is not given",
            "add it, as in --threads 2,4,16",
        )
    if not used and UNSPECIFIED not in plan.threads:
        raise LockwrightError(
            "--threads is given, but the command has no {threads}",
            "put {threads} where the program takes its number of threads",
        )
    for threads in plan.threads:
        plan.argv(threads)
        plan.preparation(threads)


def check_pattern(pattern: str) -> None:
    """Check a --metric. Raises LockwrightError if it finds no number."""
    if not pattern:
        raise LockwrightError("--metric is empty", f"give an expression, as in {_METRIC_EXAMPLE}")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise LockwrightError(
            f"--metric is not a regular expression: {error}",
            f"correct it, as in {_METRIC_EXAMPLE}",
        ) from error
    if groups > 1:
        raise LockwrightError(
            f"--metric has {groups} groups, so it is not clear which is the number",
            "keep one group, write the others as (?:...)",
        )
