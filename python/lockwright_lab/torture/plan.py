"""The plan of a torture: its locks, declared machines and durations."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.preload.locks import RWLOCK, Lock, Registry
from lockwright.preload.rwlocks import RwLock, rwlocks

if TYPE_CHECKING:
    from lockwright_lab.torture.run import Options

KINDS = ("crowd", "churn", "rings", "herd", "producers", "forks", "order", "reuse", "memory")
"""The kinds of phases of lockwright-torture."""

DISTURBANCES = ("stutter", "shuffle", "stops", "signals")
"""The disturbances of the threads in some of the phases."""

RWLOCKS = "rwlocks"
"""The name that stands for all reader-writer locks."""

TOPOLOGY = "LOCKWRIGHT_TOPOLOGY"
"""The variable that declares NUMA nodes."""


@dataclass(frozen=True)
class Run:
    """A run of one lock for `seconds`. topology: the declared NUMA nodes; None for those of the
    machine. numbers: environment variables that set numbers of the lock. rwlock: the reader-writer
    lock to test beside it instead; None to test the lock."""

    lock: Lock
    seconds: float
    topology: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)
    rwlock: RwLock | None = None

    @property
    def label(self) -> str:
        """The lock and the differences from a run without variables."""
        machine = f" on {self.topology}" if self.topology is not None else ""
        return f"{self.name}{machine}{', least numbers' if self.numbers else ''}"

    @property
    def name(self) -> str:
        """The name of the lock under test."""
        return self.lock.name if self.rwlock is None else self.rwlock.name

    @property
    def parks(self) -> bool:
        """Whether the waiters of the lock under test sleep."""
        return self.lock.parking if self.rwlock is None else self.rwlock.parking

    @property
    def variables(self) -> dict[str, str]:
        replaced = {RWLOCK: self.rwlock.name} if self.rwlock is not None else {}
        return {**replaced, **self.settings}

    @property
    def settings(self) -> dict[str, str]:
        """The variables of the declared machine and of the numbers."""
        declared = {TOPOLOGY: self.topology} if self.topology is not None else {}
        return {**declared, **self.numbers}


def chosen_locks(name: str, known: Registry) -> list[Lock]:
    """Return the lock of that name, or all. Raises LockwrightError if there is none."""
    return list(known) if name == "all" else [known.find(name)]


def chosen_rwlocks(name: str) -> list[RwLock]:
    """Return the reader-writer lock of that name, or all for RWLOCKS; none for other names."""
    known = rwlocks()
    if name == RWLOCKS:
        return list(known.values())
    return [known[name]] if name in known else []


def planned_runs(
    chosen: Sequence[Lock | RwLock], seconds: float, beside: Lock | None = None
) -> list[Run]:
    """Return the runs, which share the time so that each lock gets the same. A NUMA-aware lock runs
    on this machine, on two nodes that threads move between, and on more nodes than most machines
    have. A lock with numbers also runs with their smallest values: waiters then park at once, and
    rare paths become frequent. Neither is done if the user has set the topology or the numbers.
    beside: the lock whose library has the chosen reader-writer locks."""
    planned = []
    for each in chosen:
        lock, rwlock = (beside, each) if isinstance(each, RwLock) else (each, None)
        assert lock is not None
        machines: list[str | None] = [None]
        if each.numa_aware and not os.environ.get(TOPOLOGY):
            machines += [*_two_nodes(), "threads:0;1;2;3"]
        variants = [Run(lock, 0, machine, rwlock=rwlock) for machine in machines]
        if least := _least_numbers(each):
            variants.append(Run(lock, 0, machines[-1], least, rwlock))
        share = seconds / len(chosen) / len(variants)
        planned += [replace(run, seconds=share) for run in variants]
    return planned


def _least_numbers(lock: Lock | RwLock) -> dict[str, str]:
    names = (name for tunable in lock.tunables for name in (tunable.variable, tunable.shared))
    if any(os.environ.get(name) for name in names):
        return {}
    # "One in 0" means never: a waiter of the passive set would stay there.
    return {
        tunable.variable: str(max(tunable.least, 1) if tunable.unit == "one in" else tunable.least)
        for tunable in lock.tunables
    }


def _two_nodes() -> list[str]:
    usable = sorted(os.sched_getaffinity(0))
    half = len(usable) // 2
    if half == 0:
        return []
    return [";".join(",".join(map(str, part)) for part in (usable[:half], usable[half:]))]


def parse_words(text: str | None, option: str, allowed: Sequence[str]) -> list[str]:
    """Return the words of a list such as `crowd,herd`. Raises LockwrightError, with the nearest
    allowed word, for others."""
    words = [word.strip() for word in text.split(",")] if text is not None else []
    for word in words:
        if word not in allowed:
            raise LockwrightError(f"{option} has no '{word}'", nearest_hint(word, allowed))
    return words


def check(options: "Options", chosen: Sequence[Lock]) -> None:
    """Check that every lock has a phase. Raises LockwrightError if one has none."""
    kinds = [kind for kind in options.only or KINDS if kind not in options.without]
    for lock in chosen:
        if not any(kind != "order" or is_fifo(lock) for kind in kinds):
            raise LockwrightError(
                f"no phase is left for {lock.name}",
                "it promises no order; choose other phases" if kinds else "leave out fewer",
            )


def is_fifo(lock: Lock) -> bool:
    """Return whether the lock must admit threads in FIFO order."""
    return lock.fifo and not lock.numa_aware


def most_handovers_aside(lock: Lock, environment: Mapping[str, str]) -> int:
    """Return the approximate number of handovers after which the lock admits a thread of the
    passive set."""
    most = 1000
    for tunable in lock.tunables:
        if tunable.unit == "one in" or tunable.name in ("batch", "promotion", "patience"):
            setting = environment.get(tunable.variable) or environment.get(tunable.shared)
            most = max(most, int(setting or tunable.default))
    return most


def remarks(chosen: Sequence[Lock]) -> list[str]:
    """Return the remarks to print before the runs."""
    polling = [lock.name for lock in chosen if not lock.parking]
    if not polling:
        return []
    subject = polling[0] if len(polling) == 1 else f"{len(polling)} locks"
    return [
        f"Waiters of {subject} poll: at most 2 threads for each processor; more would make no"
        " progress."
    ]
