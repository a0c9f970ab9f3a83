"""`lockwright completion`: the script by which a shell completes the command."""

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script by which a shell completes the command.

    \b
    bash  eval "$(lockwright completion bash)" in ~/.bashrc
    zsh   eval "$(lockwright completion zsh)" in ~/.zshrc, after compinit
    fish  lockwright completion fish > ~/.config/fish/completions/lockwright.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root()
    script = kind(root.command, {}, "lockwright", "_LOCKWRIGHT_COMPLETE")
    text = script.source_template % script.source_vars()
    # Several names with commas are one value; click's script for fish would divide them.
    click.echo(text.replace('string split ","', 'string split --max 1 ","'), nl=False)
