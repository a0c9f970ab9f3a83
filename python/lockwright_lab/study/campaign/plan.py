"""The plan of a study: locks, programs, counts, placements, repetitions and machines."""

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.machine import pinning
from lockwright.preload.locks import (
    BASELINE,
    REPLACEMENTS,
    RWLOCK,
    Registry,
    check_replacement,
    replacements_of,
)
from lockwright.preload.other_libraries import LIBC
from lockwright.preload.rwlocks import KEEP, MUTEX, parts_of, rwlocks
from msgspec import Meta, field

from lockwright_lab.study.program import catalogue, entry
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.program.placeholders import Placeholders, made

EACH, ANY = "each", "any"
NO_PINNING = "none"
_ALL = "all"
_MODES = tuple(mode for mode in pinning.MODES if mode != "node")
_PROCESSORS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")

_Names = str | tuple[str, ...]
"""Names, or `all`."""
_Count = Annotated[int, Meta(ge=1, le=100_000)]
_Runs = Annotated[int, Meta(ge=1, le=10_000)]
_Scale = Annotated[float, Meta(ge=0.001, le=1000)]


@dataclass(frozen=True)
class Member:
    """A program of the study. threads: its own counts; empty for those of the plan."""

    program: Program
    scale: float
    threads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The conditions of a run that are repeated. threads: 0 for the number of processors; nodes:
    number of NUMA nodes to use, 0 for all."""

    program: str
    lock: str
    threads: int
    nodes: int
    pinning: str

    @property
    def setting(self) -> "Configuration":
        """The configuration without its lock."""
        return Configuration(self.program, "", self.threads, self.nodes, self.pinning)

    def __str__(self) -> str:
        """Return the configuration in words."""
        parts = [self.program, self.lock]
        if self.threads:
            parts.append(f"{self.threads} thread{'' if self.threads == 1 else 's'}")
        if self.nodes:
            parts.append(f"{self.nodes} node{'' if self.nodes == 1 else 's'}")
        if self.pinning != NO_PINNING:
            parts.append(f"pinned {self.pinning}")
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Plan:
    """A study. runs: counted ones of each configuration; most_runs: their limit while their
    relative standard deviation is above spread; warmup: runs before, not counted.

    machines: EACH if every machine makes every run, ANY if they share them. settings: environment
    variables of all runs. endings: whether the study tests how runs end instead of their speed;
    spinning: then the locks whose waiters never park. everything: whether its programs are all
    installed ones of the catalogue. rwlocks: reader-writer locks that are compared instead of
    mutexes; `locks` is then BASELINE, under which reader-writer locks stay the C library's, and
    these. One of `locks` may also be a pair, as in pair_name(), DEFAULT, or LIBC, no library.
    """

    name: str
    locks: tuple[str, ...]
    members: tuple[Member, ...]
    threads: tuple[int, ...]
    nodes: tuple[int, ...] = ()
    pinning: tuple[str, ...] = (NO_PINNING,)
    runs: int = 1
    warmup: int = 0
    most_runs: int = 1
    spread: float = 1.0
    seed: int = 1
    machines: str = EACH
    energy: bool = False
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    endings: bool = False
    spinning: tuple[str, ...] = ()
    everything: bool = False
    rwlocks: tuple[str, ...] = ()

    @property
    def mutexes(self) -> tuple[str, ...]:
        """The locks that replace mutexes."""
        names = [parts_of(lock)[0] for lock in self.locks if lock not in self.rwlocks]
        return tuple(name for name in names if name != LIBC)

    def mutex_of(self, lock: str) -> str:
        """Return the lock of the mutexes in runs of a lock of the plan, or LIBC."""
        return BASELINE if lock in self.rwlocks else parts_of(lock)[0]

    def settings_of(self, lock: str) -> dict[str, str]:
        """Return the environment variables of runs of a lock of the plan."""
        if self.rwlocks:
            return {**self.settings, RWLOCK: lock if lock in self.rwlocks else KEEP}
        rwlock = parts_of(lock)[1]
        return {**self.settings, **({} if rwlock == KEEP else {RWLOCK: rwlock})}

    @property
    def probed(self) -> str:
        """The lock whose settings a run has that counts acquisitions: one that replaces
        reader-writer locks, as the C library's are not counted, or else BASELINE."""
        for lock in self.locks:
            if self.settings_of(lock).get(RWLOCK, KEEP) != KEEP:
                return lock
        return BASELINE

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.program.name == name)

    def configurations(self) -> list[Configuration]:
        """Return all configurations, each once, in the order of the plan."""
        return [
            Configuration(member.program.name, lock, threads, nodes, placed)
            for member in self.members
            for threads in member.threads or self.threads or (0,)
            for nodes in self.nodes or (0,)
            for placed in self.pinning
            for lock in self.locks
        ]

    def may_take_forever(self, configuration: Configuration) -> bool:
        """Return whether polling waiters may keep the processors from the threads they wait for."""
        return configuration.lock in self.spinning and configuration.threads > _processors()

    def left_out(self, configuration: Configuration) -> str:
        """Return why a configuration is not run anywhere; empty if it is."""
        program = self.member(configuration.program).program
        if configuration.lock in program.without:
            return program.without[configuration.lock]
        if configuration.threads and configuration.threads < program.least:
            return f"it has at least {program.least} threads"
        if configuration.threads > program.most:
            return f"it has at most {program.most} threads"
        return ""

    def to_json(self) -> str:
        """Return a line of JSON that is equal for plans of the same runs."""
        return json.dumps(msgspec.to_builtins(self), sort_keys=True)


def one_program(
    program: Program, threads: int, scale: float, settings: Mapping[str, str] | None = None
) -> Plan:
    """Return the plan of a run of a program under BASELINE, with as many of the threads as it can
    have. settings: environment variables."""
    return Plan(
        name="",
        locks=(BASELINE,),
        members=(Member(program, scale),),
        threads=(min(max(threads, program.least), program.most),),
        settings=settings or {},
    )


class _File(Table, frozen=True):
    """The file of a study; docs/lab/study.md describes the keys. programs: of the catalogue;
    program: entries, or changes of the catalogue's. None: the default depends on other keys."""

    name: str | None = None
    locks: _Names = _ALL
    without: tuple[str, ...] = ()
    rwlocks: _Names | None = None
    programs: _Names = ()
    program: tuple[dict[str, Any], ...] = ()
    scale: _Scale = 1.0
    threads: tuple[_Count, ...] = ()
    threads_per_processor: tuple[_Count, ...] = ()
    nodes: tuple[_Count, ...] = ()
    pinning: tuple[str, ...] = (NO_PINNING,)
    runs: _Runs = 3
    warmup: Annotated[int, Meta(ge=0, le=1000)] = 0
    most_runs: _Runs | None = None
    spread: Annotated[float, Meta(ge=0, le=100)] = 5.0
    seed: Annotated[int, Meta(ge=0, le=1_000_000)] = 1
    machines: Literal["each", "any"] = "each"
    energy: bool = False
    endings: bool = False
    rwlock: str | None = None
    spin: str | None = None

    def __post_init__(self) -> None:
        if self.most_runs is not None and self.most_runs < self.runs:
            raise ValueError(f"most_runs is {self.most_runs}; give a whole number from {self.runs}")
        for mode in self.pinning:
            if mode not in _MODES and not _PROCESSORS.fullmatch(mode):
                raise ValueError(
                    f"pinning: '{mode}' is neither a mode nor a list of processors; choose from"
                    f" {', '.join(_MODES)}, or write processors as 0-3,8"
                )
        if self.rwlocks is not None:
            for other, is_given in (("locks", self.locks != _ALL), ("rwlock", self.rwlock)):
                if is_given:
                    raise ValueError(
                        f"rwlocks is given beside {other}; leave out {other}: the mutexes are then"
                        f" {BASELINE}'s"
                    )

    @property
    def all_threads(self) -> tuple[int, ...]:
        """The numbers of threads, each once."""
        multiples = [count * _processors() for count in self.threads_per_processor]
        return tuple(dict.fromkeys([*self.threads, *multiples]))

    def settings(self) -> dict[str, str]:
        """Return the environment variables of all runs. Raises LockwrightError for an unknown
        lock."""
        variables = {}
        for key, variable in REPLACEMENTS.items():
            if (value := getattr(self, key)) is not None:
                check_replacement(key, variable, value)
                variables[variable] = value
        return variables


class _Own(Table, frozen=True):
    """The keys of a program's table that belong to the plan and not to the entry. base: a program
    of the catalogue, of which the table changes some keys."""

    base: str = field(default="", name="from")
    scale: _Scale | None = None
    threads: tuple[_Count, ...] = ()


def read(path: Path, registry: Registry) -> Plan:
    """Return the plan of a file. Raises LockwrightError for any fault in it."""
    file = documents.load(_File, path)
    with documents.named(str(path)):
        rwlocks_ = () if file.rwlocks is None else _rwlocks(file, file.rwlocks)
        locks = (BASELINE, *rwlocks_) if rwlocks_ else _locks(file, registry)
        plan = Plan(
            name=file.name or path.stem,
            locks=locks,
            everything=file.programs == _ALL,
            members=_members(file),
            threads=file.all_threads,
            nodes=tuple(dict.fromkeys(file.nodes)),
            pinning=tuple(dict.fromkeys(file.pinning)) or (NO_PINNING,),
            runs=file.runs,
            warmup=file.warmup,
            most_runs=file.most_runs or 2 * file.runs,
            spread=file.spread / 100,
            seed=file.seed,
            machines=file.machines,
            energy=file.energy,
            settings=file.settings(),
            endings=file.endings,
            spinning=_spinning(locks, registry) if file.endings else (),
            rwlocks=rwlocks_,
        )
        if not (plan.threads or plan.nodes or all(member.threads for member in plan.members)):
            raise LockwrightError("threads is missing", "give thread counts, as in [1, 2, 8]")
        for member in plan.members:
            for threads in member.threads or plan.threads or (1,):
                with documents.named(f"program {member.program.name}"):
                    _check_placeholders(member, threads)
    return plan


def _check_placeholders(member: Member, threads: int) -> None:
    """Check the placeholders of a member. Raises LockwrightError if one cannot be filled."""
    program = member.program
    filled = Placeholders(program, threads, member.scale, Path(), Path(), Path())
    server = (program.server.command, program.server.load) if program.server else ()
    warmup = (program.warmup.command,) if program.warmup else ()
    for command in (program.command, program.before, program.after, *warmup, *server):
        filled.words(command)
    for text in program.files.values():
        filled.fill(text)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _chosen(names: str | tuple[str, ...], every: Sequence[str]) -> Sequence[str]:
    if names == _ALL:
        return every
    return [names] if isinstance(names, str) else names


def _locks(file: _File, registry: Registry) -> tuple[str, ...]:
    chosen = _chosen(file.locks, list(registry.names))
    for key, names in (("locks", chosen), ("without", file.without)):
        for name in names:
            with documents.named(key):
                lock, rwlock = parts_of(name)
                if name == LIBC:
                    continue
                registry.find(lock)
                check_replacement("rwlock", RWLOCK, rwlock)
    names = [name for name in dict.fromkeys(chosen) if name not in file.without]
    if not names:
        raise LockwrightError("locks names no lock", "name some, or 'all'")
    return tuple(names) if BASELINE in names else (BASELINE, *names)


def _rwlocks(file: _File, given: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the reader-writer locks to compare."""
    every = [name for name in replacements_of(RWLOCK) if name not in (KEEP, MUTEX)]
    chosen = _chosen(given, every)
    for key, names in (("rwlocks", chosen), ("without", file.without)):
        for name in names:
            if name not in (KEEP, *every):
                what = f"{key}: no reader-writer lock is named '{name}'"
                raise LockwrightError(what, nearest_hint(name, every))
    names = [name for name in dict.fromkeys(chosen) if name not in (KEEP, *file.without)]
    if not names:
        advice = "name some, or 'all'; the C library's always takes part"
        raise LockwrightError("rwlocks names no reader-writer lock", advice)
    return tuple(names)


def _spinning(locks: tuple[str, ...], registry: Registry) -> tuple[str, ...]:
    """Return the locks and reader-writer locks whose waiters never park."""
    known = rwlocks()
    return tuple(
        name
        for name in locks
        if name != LIBC
        and not (known[name] if name in known else registry.find(parts_of(name)[0])).parking
    )


def _members(file: _File) -> tuple[Member, ...]:
    members = []
    for name in _chosen(file.programs, catalogue.names()):
        with documents.named("programs"):
            members.append(Member(catalogue.find(name), file.scale))
    for number, table in enumerate(file.program, 1):
        members.append(_member(table, f"program[{number}]", file.scale))
    names = [member.program.name for member in members]
    if not names:
        advice = "name programs of the catalogue, or give a [[program]]"
        raise LockwrightError("programs is missing", advice)
    for name in names:
        if names.count(name) > 1:
            what = f"programs: there are two named '{name}'"
            raise LockwrightError(what, "give one of them another name")
    for member in members:
        with documents.named("scale"):
            made(member.program, member.scale)
    return tuple(members)


def _member(table: Mapping[str, Any], where: str, scale: float) -> Member:
    """Return the plan's own entry, or one of the catalogue with some keys changed."""
    own = ("from", "scale", "threads")
    keys = documents.convert(_Own, {key: table[key] for key in own if key in table}, where)
    values = {key: value for key, value in table.items() if key not in own}
    if keys.base:
        with documents.named(f"{where}: from"):
            inherited = catalogue.table(keys.base)
        values = catalogue.merged(inherited, values)
    threads = tuple(dict.fromkeys(keys.threads))
    return Member(entry.read(values, where), keys.scale or scale, threads)
