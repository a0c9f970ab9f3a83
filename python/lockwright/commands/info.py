"""`lockwright info`: the properties of a lock."""

import click

from lockwright.commands.common import brief, complete


@brief.command("info")
@click.argument("name", metavar="LOCK|RWLOCK", shell_complete=complete.any_lock)
def command(name: str) -> None:
    """Describe a lock or a reader-writer lock: its properties, costs and source.

    'default' is what 'lockwright run' takes without an option."""
    from lockwright.machine.describe import describe, describe_default, describe_rwlock
    from lockwright.preload.locks import DEFAULT, registry
    from lockwright.preload.rwlocks import rwlocks

    locks = registry()
    if name == DEFAULT:
        describe_default(locks)
    elif name not in locks.names and (rwlock := rwlocks().get(name)) is not None:
        describe_rwlock(rwlock)
    else:
        describe(locks.find(name), locks)
