"""Commands that have commands of their own."""

import click

_WHOLE = 10_000
"""Characters that no sentence has."""


class Group(click.Group):
    """A group whose help has the whole first sentence of each command; click cuts it to a line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(_WHOLE)))
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
