"""`lockwright info`: the properties of a lock."""

from typing import TYPE_CHECKING

import click

from lockwright.commands.common import complete

if TYPE_CHECKING:
    from lockwright.machine.calibration import Setting


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


@click.command("info")
@click.argument("name", metavar="LOCK", shell_complete=complete.lock)
def command(name: str) -> None:
    """Describe a lock: its properties, costs and source."""
    import os

    from rich.table import Table

    from lockwright.base.terminal import output
    from lockwright.machine import calibration
    from lockwright.preload.locks import registry

    locks = registry()
    lock = locks.find(name)
    locks.check_environment(name, os.environ)
    calibrated, remark = calibration.load()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    # Paths are wrapped, not cut.
    table.add_column(overflow="fold")
    for label, value in (
        ("category", lock.category),
        ("waiting", lock.waiting),
        ("properties", ", ".join(lock.properties()) or "none"),
        (
            "suited to",
            ", ".join(f"{suit.case} ({suit.why})" for suit in lock.suits) or "not stated",
        ),
        ("over-subscription", _OVERSUBSCRIPTION[lock.survives_oversubscription]),
        ("real-time threads", _REALTIME[lock.realtime]),
        ("trylock", lock.trylock),
        ("timed lock", lock.timedlock),
        ("bytes in place", str(lock.bytes_in_place)),
        ("bytes outside", _outside(lock.bytes_per_mutex_outside)),
        ("bytes per node", f"{lock.bytes_per_node} per lock held or awaited"),
        ("reference", lock.reference),
        ("patents", lock.patents or "none found"),
        ("header", lock.header),
        ("library", str(locks.path_of(lock.name))),
    ):
        table.add_row(label, value)
    console = output()
    console.print(f"{lock.name}: {lock.summary}\n")
    console.print(table)
    if lock.tunables:
        console.print("\nParameters, each set by an environment variable:", style="bold")
        for each in calibration.settings(lock, calibrated, os.environ):
            console.print(f"{each.number.variable}: {_value(each)}", soft_wrap=True)
            console.print(f"    {each.number.meaning} ({each.number.source})", soft_wrap=True)
        if remark:
            console.print(remark[:1].upper() + remark[1:], soft_wrap=True)
    console.print(f"\nUse it: lockwright run --lock {lock.name} -- COMMAND")


def _outside(size: int) -> str:
    """Return the bytes outside a mutex in words. Many programs never destroy a mutex, so the memory
    of those no longer used is reclaimed with a delay."""
    if size == 0:
        return "0 per mutex"
    return f"{size} for each mutex in use, reused when it is gone"


def _value(setting: "Setting") -> str:
    number = setting.number
    default = number.with_unit()
    if setting.origin == "default":
        return f"{default} (default)"
    return f"{number.with_unit(setting.value)} ({setting.origin}; by default {default})"
