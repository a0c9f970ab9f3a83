"""Help of a command that fits on a screen, and all of it with `--help --all`."""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import click

LINES = 40
"""Lines of a screen, which no help exceeds without --all."""

_PARAGRAPH = "\b"
"""click's mark of a paragraph whose lines it does not join."""

_NAMES = 30
"""Most columns of the names of options."""

_GAP = 2
"""Columns before the names, and between names and meaning."""


class Command(click.Command):
    """A command whose help, if it is longer than a screen, has the first paragraph and a line for
    each option; `--help --all` prints all."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Print the whole help for `--help --all`, whether `--all` is an option or not."""
        own = set(args[: args.index("--")] if "--" in args else args)
        if "--all" in own and own & {*ctx.help_option_names}:
            click.echo(super().get_help(ctx), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """Return the help, cut to a screen."""
        whole = super().get_help(ctx)
        return whole if whole.count("\n") < LINES else self._brief(ctx)

    def _brief(self, ctx: click.Context) -> str:
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        first, *others = inspect.cleandoc(self.help or "").split("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(" ".join(first.split()))
        for block in others:
            heading, *lines = block.removeprefix(_PARAGRAPH + "\n").splitlines()
            if heading.startswith("Parameters"):
                with formatter.section(heading.rstrip(":")):
                    _write_first_lines(lines, formatter)
            elif heading.startswith("Example"):
                with formatter.indentation():
                    formatter.write_paragraph()
                    formatter.write_text(" ".join(block.split()))
        with formatter.section("Options"):
            formatter.write_dl(_rows(self.get_params(ctx), ctx, formatter.width), col_max=_NAMES)
        formatter.write_paragraph()
        formatter.write_text(f"In full: {ctx.command_path} --help --all")
        return formatter.getvalue().rstrip("\n")


def _write_first_lines(lines: list[str], formatter: click.HelpFormatter) -> None:
    """Write lines that are indented by two columns; those indented more continue another."""
    for line in lines:
        if len(line) - len(line.lstrip()) == 2:
            formatter.write(" " * formatter.current_indent + line.strip() + "\n")


def _rows(
    parameters: list[click.Parameter], ctx: click.Context, width: int
) -> list[tuple[str, str]]:
    """Return the names of each option, and its meaning in the rest of a line."""
    named = []
    for each in parameters:
        record = each.get_help_record(ctx)
        if record is not None and isinstance(each, click.Option):
            names = record[0] if len(record[0]) <= _NAMES else ", ".join(each.opts)
            named.append((names, each.help or ""))
    rest = width - max(len(names) for names, _ in named) - 2 * _GAP
    return [
        (names, textwrap.shorten(text.partition(". ")[0].rstrip("."), rest, placeholder=" ..."))
        for names, text in named
    ]


def command(name: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator for a command. more: of click.command."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        return click.command(name, cls=Command, **more)(function)

    return decorate
