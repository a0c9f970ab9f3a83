"""`lockwright list`: every lock with its properties."""

import json
import sys
from pathlib import Path

import click

from lockwright.commands.common import brief, grammar

_MEANINGS = (
    ("spin", "a waiter polls, which takes a processor from the holder"),
    ("park", "a waiter sleeps in the kernel until it is woken"),
    ("FIFO", "threads acquire the lock in the order of their requests"),
    ("by priority", "the waiter of the highest real-time priority is next"),
    ("light", "acquiring a free lock takes one atomic operation and no queue node"),
    (
        "hardened trylock",
        "a trylock is slow enough that calling it in a loop does not flood the lock",
    ),
    ("yields", "a waiter yields its processor a number of times before it sleeps"),
    ("low traffic", "a waiter polls rarely, or few threads circulate"),
    (
        "bytes",
        "inside the program's own mutex + outside it for each mutex"
        " + for each lock that a thread holds or awaits",
    ),
)

_REFERENCES_FIT = 120
"""Least width of a terminal for a column of references."""


@brief.command("list")
@click.option("--reader-writer", is_flag=True, help="List the reader-writer locks instead.")
@grammar.json_file("the registry")
def command(json_file: Path | None, reader_writer: bool) -> None:
    """List all locks, with category, waiting policy, properties, bytes and reference.

    A lock's bytes are three figures: inside the program's own mutex + outside it for each mutex +
    for each lock that a thread holds or awaits. --json has more properties, such as the order of
    threads with real-time priorities, and the parameters.
    """
    from lockwright.base import files
    from lockwright.preload.locks import registry

    if reader_writer:
        _list_rwlocks(json_file)
        return
    locks = registry()
    if json_file is not None:
        files.write(json_file, json.dumps(locks.rows, indent=2) + "\n", "--json")
    if json_file == files.STANDARD_OUTPUT:
        return
    from rich.table import Table

    from lockwright.base.terminal import output, print_terms

    screen = output()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("lock", "category", "waiting", "properties"):
        table.add_column(heading, no_wrap=heading == "lock")
    table.add_column("bytes", no_wrap=True, justify="right")
    with_references = screen.width >= _REFERENCES_FIT
    if with_references:
        table.add_column("reference")
    for lock in locks:
        sizes = (lock.bytes_in_place, lock.bytes_per_mutex_outside, lock.bytes_per_node)
        row = [lock.name, lock.category, lock.waiting, ", ".join(lock.properties())]
        row.append("+".join(map(str, sizes)))
        table.add_row(*row, *([lock.reference] if with_references else []))
    screen.print(table)
    if sys.stdout.isatty():
        screen.print()
        print_terms(screen, _MEANINGS)
        screen.print("\nDetails of a lock, with its reference: lockwright info LOCK", style="dim")


def _list_rwlocks(json_file: Path | None) -> None:
    from dataclasses import asdict

    from rich.table import Table

    from lockwright.base import files
    from lockwright.base.terminal import output
    from lockwright.preload.rwlocks import rwlocks

    locks = rwlocks()
    if json_file is not None:
        rows = [asdict(lock) for lock in locks.values()]
        files.write(json_file, json.dumps(rows, indent=2) + "\n", "--json")
    if json_file == files.STANDARD_OUTPUT:
        return
    screen = output()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("reader-writer lock", "preference", "waiting", "properties", "for"):
        table.add_column(heading, no_wrap=heading == "reader-writer lock")
    table.add_column("bytes", no_wrap=True, justify="right")
    for lock in locks.values():
        sizes = (lock.bytes_in_place, lock.bytes_per_lock_outside, lock.bytes_per_node)
        row = [lock.name, lock.preference, lock.waiting, ", ".join(lock.properties()), lock.suits]
        table.add_row(*row, "+".join(map(str, sizes)))
    screen.print(table)
