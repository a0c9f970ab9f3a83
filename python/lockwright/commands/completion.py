"""`lockwright completion`: the script that makes a shell complete the command."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that makes a shell complete the command."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root()
    script = kind(root.command, {}, "lockwright", "_LOCKWRIGHT_COMPLETE")
    text = script.source_template % script.source_vars()
    # Several names with commas are one value; click's script for fish would split them.
    click.echo(text.replace('string split ","', 'string split --max 1 ","'), nl=False)
