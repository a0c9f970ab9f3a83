"""`lockwright path`: where the library of a lock lies."""

import click


@click.command("path")
@click.argument("name", metavar="LOCK")
@click.option("--counting", is_flag=True, help="The library that also counts what it does.")
def command(name: str, counting: bool) -> None:
    """Print the path of a lock's library, for LD_PRELOAD.

    Example: LD_PRELOAD=$(lockwright path mcs-stp) COMMAND
    """
    from lockwright.locks import registry

    click.echo(registry().library(name, counting=counting))
