"""The description of a lock or a reader-writer lock: what `lockwright info` prints."""

import os
from collections.abc import Mapping, Sequence

from rich.table import Table

from lockwright.base.terminal import output
from lockwright.machine import calibration
from lockwright.machine.calibration import Setting
from lockwright.preload.locks import (
    DEFAULT,
    DEFAULT_LOCK,
    DEFAULT_RWLOCK,
    Lock,
    Registry,
    Suitability,
    Tunable,
)
from lockwright.preload.rwlocks import RwLock

_PREFERENCE = {
    "readers": "readers: a waiting writer holds up no reader",
    "writers": "writers: no reader passes a waiting writer",
    "FIFO": "FIFO: in order of arrival, consecutive readers together",
    "alternating": "alternating: phases of readers and of writers",
    "none": "none: no order is promised",
}
"""Order of admission, by RwLock.preference."""

_REALTIME = {
    "by priority": "by priority: the waiter of the highest priority is next",
    "own order": "own order: the successor does not depend on priorities",
    "starves": "starves: a waiter keeps a holder of lower priority off their processor",
}
"""Behaviour under SCHED_FIFO and SCHED_RR, by Lock.realtime."""

_OVERSUBSCRIPTION = {
    True: "threads make progress though they outnumber the processors",
    False: "not known to make progress with more threads than processors",
}
"""Text by Lock.survives_oversubscription."""


def describe(lock: Lock, locks: Registry) -> None:
    """Print the properties of a lock, and its parameters with their origin."""
    locks.check_environment(lock.name, os.environ)
    calibrated, remark = calibration.load()
    settings = calibration.settings(lock, calibrated, os.environ)
    properties = {
        "category": lock.category,
        "waiting": lock.waiting,
        "properties": ", ".join(lock.properties()) or "none",
        "suited to": _use_cases(lock.suits),
        "over-subscription": _OVERSUBSCRIPTION[lock.survives_oversubscription],
        "real-time threads": _REALTIME[lock.realtime],
        "trylock": lock.trylock,
        "timed lock": lock.timedlock,
        "bytes in place": str(lock.bytes_in_place),
        "bytes outside": _outside(lock.bytes_per_mutex_outside),
        "bytes per node": f"{lock.bytes_per_node} per lock held or awaited",
        "system calls": ", ".join(lock.system_calls()) or "none",
        "reference": lock.reference,
        "patents": lock.patents or "none found",
        "header": lock.header,
        "library": str(locks.path_of(lock.name)),
    }
    parameters = [(each.number, _value(each)) for each in settings]
    _print(lock, properties, parameters, remark, f"--lock {lock.name}")


def describe_rwlock(lock: RwLock) -> None:
    """Print the properties of a reader-writer lock, and its parameters."""
    properties = {
        "preference": _PREFERENCE[lock.preference],
        "waiting": lock.waiting,
        "properties": ", ".join(lock.properties()) or "none",
        "suited to": lock.suits,
        "use cases": _use_cases(lock.use_cases),
        "bytes in place": str(lock.bytes_in_place),
        "bytes outside": f"{lock.bytes_per_lock_outside} for each lock in use",
        "bytes per node": f"{lock.bytes_per_node} for each waiting thread",
        "reference": lock.reference,
        "patents": lock.patents or "none found",
        "header": lock.header,
    }
    parameters = [(each, f"{each.with_unit()} (default)") for each in lock.tunables]
    _print(lock, properties, parameters, "", f"--lock pthread --rwlock {lock.name}")


def describe_default(locks: Registry) -> None:
    """Print the parts of DEFAULT."""
    parts = {
        "mutexes": f"{DEFAULT_LOCK}; see 'lockwright info {DEFAULT_LOCK}'",
        "reader-writer locks": f"{DEFAULT_RWLOCK}; see 'lockwright info {DEFAULT_RWLOCK}'",
        "condition variables": "adaptive, as under every lock but pthread",
        "semaphores": "adaptive, as under every lock but pthread",
        "library": str(locks.path_of(DEFAULT)),
    }
    console = output()
    console.print(f"{DEFAULT}: what 'lockwright run' puts in place without an option\n")
    console.print(_table(parts))
    console.print("\nUse it: lockwright run -- COMMAND")


def _table(rows: Mapping[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    # Paths are wrapped, not cut.
    table.add_column(overflow="fold")
    for label, value in rows.items():
        table.add_row(label, value)
    return table


def _print(
    lock: Lock | RwLock,
    properties: Mapping[str, str],
    parameters: Sequence[tuple[Tunable, str]],
    remark: str,
    options: str,
) -> None:
    """Print all. parameters: with their values in words; options: those of a run under the lock."""
    console = output()
    console.print(f"{lock.name}: {lock.summary}\n")
    console.print(_table(properties))
    if parameters:
        console.print("\nParameters, each set by an environment variable:", style="bold")
        for number, value in parameters:
            console.print(f"{number.variable}: {value}", soft_wrap=True)
            console.print(f"    {number.meaning} ({number.source})", soft_wrap=True)
        if remark:
            console.print(remark[:1].upper() + remark[1:], soft_wrap=True)
    console.print(f"\nUse it: lockwright run {options} -- COMMAND")


def _use_cases(stated: Sequence[Suitability]) -> str:
    return ", ".join(f"{each.case} ({each.why})" for each in stated) or "not stated"


def _outside(size: int) -> str:
    """Return the bytes outside a mutex in words. Many programs never destroy a mutex, so the memory
    of those no longer used is reclaimed with a delay."""
    if size == 0:
        return "0 per mutex"
    return f"{size} for each mutex in use, reused when it is gone"


def _value(setting: Setting) -> str:
    number = setting.number
    default = number.with_unit()
    if setting.origin == "default":
        return f"{default} (default)"
    return f"{number.with_unit(setting.value)} ({setting.origin}; by default {default})"
