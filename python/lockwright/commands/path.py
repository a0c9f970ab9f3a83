"""`lockwright path`: the path of a lock's library, and of the headers for programs."""

import click

from lockwright.commands.common import brief, complete


@brief.command("path")
@click.argument("name", metavar="[LOCK]", required=False, shell_complete=complete.lock_or_default)
@click.option(
    "--include", is_flag=True, help="Print the directory of lockwright/pthread.h, for -I."
)
def command(name: str | None, include: bool) -> None:
    """Print the path of a lock's library, or with 'default' of liblockwright.so, for LD_PRELOAD.

    Example: LD_PRELOAD=$(lockwright path mcs-stp) COMMAND
    """
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import headers, registry

    if include and name is not None:
        raise click.UsageError("--include takes no lock: the headers are the same for all")
    if not include and name is None:
        raise click.UsageError("name a lock of 'lockwright list', or give --include")
    path = registry().path_of(name) if name else headers()
    if name and " " in str(path):
        raise LockwrightError(
            f"'{path}' contains a space, where LD_PRELOAD is split",
            f"use 'lockwright run', or LD_PRELOAD={path.name} with LD_LIBRARY_PATH={path.parent}",
        )
    click.echo(path)
