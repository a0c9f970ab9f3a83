"""The plan of a study: locks, programs, counts, placements, repetitions and machines."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import partial
from pathlib import Path

from lockwright.base.errors import nearest_hint
from lockwright.machine import pinning
from lockwright.preload.locks import (
    BASELINE,
    REPLACEMENTS,
    RWLOCK,
    Registry,
    replacements_of,
)
from lockwright.preload.rwlocks import KEEP, MUTEX, rwlocks

from lockwright_lab.study import toml_table
from lockwright_lab.study.program import catalogue, entry
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.program.placeholders import Placeholders, made
from lockwright_lab.study.toml_table import Table

EACH, ANY = "each", "any"
NO_PINNING = "none"
_ALL = "all"
_MODES = tuple(mode for mode in pinning.MODES if mode != "node")
_PROCESSORS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_OWN_KEYS = ("from", "scale", "threads")
"""Keys of a program's table that belong to the plan and not to the entry."""


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
    these.
    """

    name: str
    locks: tuple[str, ...]
    members: tuple[Member, ...]
    threads: tuple[int, ...]
    nodes: tuple[int, ...]
    pinning: tuple[str, ...]
    runs: int
    warmup: int
    most_runs: int
    spread: float
    seed: int
    machines: str
    energy: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    endings: bool = False
    spinning: tuple[str, ...] = ()
    everything: bool = False
    rwlocks: tuple[str, ...] = ()

    @property
    def mutexes(self) -> tuple[str, ...]:
        """The locks that replace mutexes."""
        return tuple(lock for lock in self.locks if lock not in self.rwlocks)

    def mutex_of(self, lock: str) -> str:
        """Return the lock of the mutexes in runs of a lock of the plan."""
        return BASELINE if lock in self.rwlocks else lock

    def settings_of(self, lock: str) -> dict[str, str]:
        """Return the environment variables of runs of a lock of the plan."""
        if self.rwlocks:
            return {**self.settings, RWLOCK: lock if lock in self.rwlocks else KEEP}
        return dict(self.settings)

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
        return json.dumps(asdict(self), sort_keys=True)


def difference(plan: str, other_plan: str) -> str:
    """Return the first key in which two plans as JSON differ; for a program, with its name."""
    # A plan stored by an older version lacks newer keys.
    unset = {key.name: key.default for key in fields(Plan) if key.default is not MISSING}
    first, second = json.loads(plan), json.loads(json.dumps(unset)) | json.loads(other_plan)
    for key in [plan_field.name for plan_field in fields(Plan)]:
        if key == "members" and first[key] != second.get(key):
            members = {member["program"]["name"]: member for member in second.get(key, [])}
            for member in first[key]:
                name = member["program"]["name"]
                if member != members.get(name):
                    return f"the program {name}"
            return "programs"
        if first[key] != second.get(key):
            return key
    return ""


def read(path: Path, registry: Registry) -> Plan:
    """Return the plan of a file. Raises LockwrightError for any fault in it."""
    table = toml_table.load(path)
    runs = table.integer("runs", 3, 1, 10_000)
    endings, compared_rwlocks = table.flag("endings"), _rwlocks(table)
    locks = (BASELINE, *compared_rwlocks) if compared_rwlocks else _locks(table, registry)
    plan = Plan(
        name=table.text("name", path.stem),
        locks=locks,
        everything=table.values.get("programs") == _ALL,
        members=_members(table),
        threads=_threads(table),
        nodes=table.integers("nodes", []),
        pinning=_pinning(table),
        runs=runs,
        warmup=table.integer("warmup", 0, 0, 1000),
        most_runs=table.integer("most_runs", max(runs, 2 * runs), runs, 10_000),
        spread=table.number("spread", 5.0, 0.0, 100.0) / 100,
        seed=table.integer("seed", 1),
        machines=table.text("machines", EACH, (EACH, ANY)),
        energy=table.flag("energy"),
        settings=_settings(table),
        endings=endings,
        spinning=_spinning(locks, registry) if endings else (),
        rwlocks=compared_rwlocks,
    )
    table.end()
    if not (plan.threads or plan.nodes or all(member.threads for member in plan.members)):
        raise table.complaint("threads", "is missing", "give thread counts, as in [1, 2, 8]")
    for member in plan.members:
        for threads in member.threads or plan.threads or (1,):
            table.checked(
                f"program {member.program.name}", partial(_check_placeholders, member, threads)
            )
    return plan


def _check_placeholders(member: Member, threads: int) -> None:
    """Check the placeholders of a member. Raises LockwrightError if one cannot be filled."""
    program = member.program
    filled = Placeholders(program, threads, member.scale, Path(), Path(), Path())
    server = (program.server.command, program.server.load) if program.server else ()
    for command in (program.command, program.before, program.after, program.warmup, *server):
        filled.words(command)
    for text in program.files.values():
        filled.fill(text)


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _threads(table: Table) -> tuple[int, ...]:
    multiples = [count * _processors() for count in table.integers("threads_per_processor", [])]
    return tuple(dict.fromkeys([*table.integers("threads", []), *multiples]))


def _locks(table: Table, registry: Registry) -> tuple[str, ...]:
    chosen = table.value("locks", (list, str), "a list of locks, or 'all'", _ALL)
    names = list(registry.names) if chosen == _ALL else [chosen] if isinstance(chosen, str) else []
    if not names:
        names = list(table.texts("locks"))
    for key in ("locks", "without"):
        for name in names if key == "locks" else table.texts("without", []):
            table.checked(key, partial(registry.find, name))
    left_out = table.texts("without", [])
    names = [name for name in dict.fromkeys(names) if name not in left_out]
    if not names:
        raise table.complaint("locks", "names no lock", "name some, or 'all'")
    return tuple(names) if BASELINE in names else (BASELINE, *names)


def _rwlocks(table: Table) -> tuple[str, ...]:
    """Return the reader-writer locks to compare; none without the key."""
    if not table.has("rwlocks"):
        return ()
    for other in ("locks", "rwlock"):
        if table.has(other):
            advice = f"leave out {other}: the mutexes are then {BASELINE}'s"
            raise table.complaint("rwlocks", f"is given beside {other}", advice)
    chosen = table.value("rwlocks", (list, str), "a list of reader-writer locks, or 'all'", ...)
    every = [name for name in replacements_of(RWLOCK) if name not in (KEEP, MUTEX)]
    names = every if chosen == _ALL else [chosen] if isinstance(chosen, str) else []
    left_out = table.texts("without", [])
    names = names or list(table.texts("rwlocks"))
    for key, given in (("rwlocks", names), ("without", left_out)):
        for name in given:
            if name not in (KEEP, *every):
                what = f"no reader-writer lock is named '{name}'"
                raise table.complaint(key, what, nearest_hint(name, every))
    names = [name for name in dict.fromkeys(names) if name not in (KEEP, *left_out)]
    if not names:
        advice = "name some, or 'all'; the C library's always takes part"
        raise table.complaint("rwlocks", "names no reader-writer lock", advice)
    return tuple(names)


def _spinning(locks: tuple[str, ...], registry: Registry) -> tuple[str, ...]:
    """Return the locks and reader-writer locks whose waiters never park."""
    known = rwlocks()
    return tuple(
        name
        for name in locks
        if not (known[name].parking if name in known else registry.find(name).parking)
    )


def _members(table: Table) -> tuple[Member, ...]:
    scale = table.number("scale", 1.0, 0.001, 1000.0)
    members = []
    chosen = table.value("programs", (list, str), "a list of programs, or 'all'", [])
    for name in catalogue.names() if chosen == _ALL else table.texts("programs", []):
        program = table.checked("programs", partial(catalogue.find, name))
        members.append(Member(program, scale))
    for table_of_program in table.tables("program"):
        threads, factor = (
            table_of_program.integers("threads", []),
            table_of_program.number("scale", scale, 0.001, 1000.0),
        )
        members.append(Member(_program(table_of_program), factor, threads))
    names = [member.program.name for member in members]
    if not names:
        raise table.complaint(
            "programs", "is missing", "name programs of the catalogue, or give a [[program]]"
        )
    for name in names:
        if names.count(name) > 1:
            raise table.complaint(
                "programs", f"there are two named '{name}'", "give one of them another name"
            )
    for member in members:
        table.checked("scale", partial(made, member.program, member.scale))
    return tuple(members)


def _program(table: Table) -> Program:
    """Return the plan's own entry, or one of the catalogue with some keys changed."""
    values = {key: value for key, value in table.values.items() if key not in _OWN_KEYS}
    name = table.text("from", "")
    if not name:
        return entry.read(Table(table.file, table.key, values))
    table.checked("from", partial(catalogue.find, name))
    merged = catalogue.merged(catalogue.table(name).values, values)
    return entry.read(Table(table.file, table.key, merged), name)


def _pinning(table: Table) -> tuple[str, ...]:
    chosen = table.texts("pinning", [NO_PINNING])
    for mode in chosen:
        if mode not in _MODES and not _PROCESSORS.fullmatch(mode):
            raise table.complaint(
                "pinning",
                f"'{mode}' is neither a mode nor a list of processors",
                f"choose from {', '.join(_MODES)}, or write processors as 0-3,8",
            )
    return tuple(dict.fromkeys(chosen)) or (NO_PINNING,)


def _settings(table: Table) -> dict[str, str]:
    variables = {}
    for key, variable in REPLACEMENTS.items():
        if table.has(key):
            variables[variable] = table.text(key, among=replacements_of(variable))
    return variables
