"""`lockwright completion`: the script that makes a shell complete the command."""

import click

from lockwright.commands.common import brief

SHELLS = ("bash", "zsh", "fish")


def script(root: click.Command, shell: str) -> str:
    """Return the script for one of SHELLS. root: the command `lockwright` itself."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    completer = kind(root, {}, "lockwright", "_LOCKWRIGHT_COMPLETE")
    text = completer.source_template % completer.source_vars()
    # Several names with commas are one value; click's script for fish would split them.
    return text.replace('string split ","', 'string split --max 1 ","')


@brief.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that makes a shell complete the command."""
    click.echo(script(click.get_current_context().find_root().command, shell), nl=False)
