"""`lockwright list`: every lock, with what is known about it."""

import json

import click


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="The whole registry as JSON.")
def command(as_json: bool) -> None:
    """Every lock, with category, waiting policy, properties, bytes and reference.

    Bytes are: in the program's own mutex + outside it per mutex + per lock held or awaited.
    """
    from lockwright.locks import registry

    locks = registry()
    if as_json:
        click.echo(json.dumps(locks.rows, indent=2))
        return
    from rich.table import Table

    from lockwright.terminal import output

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("lock", "category", "waiting", "properties"):
        table.add_column(heading, no_wrap=heading == "lock")
    table.add_column("bytes", no_wrap=True, justify="right")
    table.add_column("reference")
    for lock in locks:
        sizes = (lock.bytes_in_place, lock.bytes_per_mutex_outside, lock.bytes_per_node)
        table.add_row(
            lock.name,
            lock.category,
            lock.waiting,
            ", ".join(lock.properties()),
            "+".join(map(str, sizes)),
            lock.reference,
        )
    output().print(table)
