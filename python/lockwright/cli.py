"""The `lockwright` command: a thin group whose subcommands are imported when they are used."""

import importlib
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lockwright.base import extensions, streams
from lockwright.base.errors import LockwrightError, explain, nearest_hint

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "list": "List all locks with their properties.",
    "info": "Describe a lock.",
    "path": "Print the path of a lock's library.",
    "run": "Run a program with a lock in place.",
    "profile": "Run a program and report which of its mutexes cost most, and where.",
    "compare": "Run a program under several locks and show which is best.",
    "tune": "Find the lock under which a program runs best, and confirm it.",
    "doctor": "Report what on this machine disturbs a measurement of locks.",
    "calibrate": "Measure this machine, and set the parameters of the locks accordingly.",
    "advise": "Name the bottleneck in a profile, and the locks to try.",
    "predict": "Predict the best lock of a profiled program on a machine.",
    "what-if": "Predict the effect of a change of a profiled program.",
    "top": "Show the mutexes that a running program's threads wait for.",
    "metrics": "Print for which mutexes running programs wait, for Prometheus.",
    "export": "Convert a profile to the format of another program.",
    "emit": "Print what puts a lock under a service, a container or a script.",
    "completion": "Print the script that makes a shell complete the command.",
}
"""Name and one-line help of each subcommand; `lockwright.commands.<name>`, with _ for -, defines
`command`. Other packages add commands, as `extensions.COMMANDS` says."""

_TITLES = {"lockwright_lab": "Commands of the laboratory"}
"""Headings of the commands of other packages in the help."""


_NoCommand: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click raises for a group without a command, from version 8.2 on."""

_FEW = 8
"""Number of commands up to which a message lists them."""


def all_commands() -> dict[str, str]:
    """Return name and one-line help of each subcommand of all installed packages."""
    commands = dict(COMMANDS)
    for rows in extensions.added(extensions.COMMANDS).values():
        commands |= rows
    return commands


def package_of(name: str) -> str | None:
    """Return the package that defines a subcommand. The entry points, whose search takes time, are
    read only for a name that is not this package's own."""
    if name in COMMANDS:
        return "lockwright"
    added = extensions.added(extensions.COMMANDS)
    return next((package for package, rows in added.items() if name in rows), None)


class _LazyGroup(click.Group):
    """A command group that imports only the called subcommand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(all_commands())

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Offer the subcommands without loading them."""
        from click.shell_completion import CompletionItem

        options = click.Command.shell_complete(self, ctx, incomplete)
        commands = all_commands()
        names = [name for name in commands if name.startswith(incomplete)]
        return [*(CompletionItem(name, help=commands[name]) for name in names), *options]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        package = package_of(cmd_name)
        if package is None:
            return None
        module = cmd_name.replace("-", "_")
        command = importlib.import_module(f"{package}.commands.{module}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        for package, rows in extensions.added(extensions.COMMANDS).items():
            with formatter.section(_TITLES.get(package, f"Commands of {package}")):
                formatter.write_dl(list(rows.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and package_of(args[0]) is None:
            hint = nearest_hint(args[0], all_commands(), "see 'lockwright --help'")
            raise LockwrightError(f"no command is named '{args[0]}'", hint)
        return super().resolve_command(ctx, args)


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from lockwright import version

        click.echo(f"lockwright {version()}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Swap the lock under an unmodified program, and show which lock is best."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _fault(error: click.ClickException) -> str:
    """Return a description of a bad value; '' to use click's."""
    option = error.param if isinstance(error, click.BadParameter) else None
    if option is None or isinstance(error, click.MissingParameter):
        return ""
    value_type = option.type
    name = option.opts[-1] if isinstance(option, click.Option) else option.human_readable_name
    if isinstance(value_type, click.Choice):
        value, _, _ = error.message.rpartition(" is not one of ")
        return f"invalid value {value} for {name}" if value else ""
    if not isinstance(value_type, click.IntRange | click.FloatRange):
        return ""
    if "is not in the range" not in error.message:
        number = "a whole number" if isinstance(value_type, click.IntRange) else "a number"
        value, _, _ = error.message.rpartition(" is ")
        return f"invalid value {value} for {name}: it must be {number}"
    bounds = []
    if value_type.min is not None:
        bounds.append(f"{'greater than' if value_type.min_open else 'at least'} {value_type.min}")
    if value_type.max is not None:
        bounds.append(f"at most {value_type.max}")
    return f"{name} must be {' and '.join(bounds)}"


def _without_command(error: click.UsageError) -> LockwrightError:
    """Return the LockwrightError for a group of commands without one of them. click's message is
    the whole help."""
    context = error.ctx
    path = context.command_path if context is not None else "lockwright"
    group = context.command if context is not None else None
    names = group.list_commands(context) if context and isinstance(group, click.Group) else []
    todo = f"choose from {', '.join(names)}" if 0 < len(names) <= _FEW else f"see '{path} --help'"
    return LockwrightError(f"'{path}' needs a command", todo)


def _usage(error: click.ClickException, arguments: Sequence[str]) -> LockwrightError:
    """Return the LockwrightError for a usage error of click."""
    if isinstance(error, _NoCommand):
        return _without_command(error)
    # For a missing choice, click adds the list.
    problem = _fault(error) or error.format_message().strip().partition(". Choose")[0].rstrip(".")
    value_type = getattr(getattr(error, "param", None), "type", None)
    if isinstance(value_type, click.Choice):
        todo = f"choose from {', '.join(map(str, value_type.choices))}"
        return LockwrightError(problem[:1].lower() + problem[1:], todo)
    context = getattr(error, "ctx", None)
    if context is not None:
        command = context.command_path
    else:
        # click does not always have the context of the option.
        command = " ".join(["lockwright", *(word for word in arguments[:1] if package_of(word))])
    return LockwrightError(problem[:1].lower() + problem[1:], f"see '{command} --help'")


def _explain(error: LockwrightError) -> int:
    explain(error)
    return error.status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 2 for bad input, 130 after Ctrl-C."""
    streams.open_closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal whose encoding lacks a character gets a substitute instead of an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = cli.main(args=arguments, prog_name="lockwright", standalone_mode=False)
        sys.stdout.flush()
        if streams.reader_has_left():
            return 128 + signal.SIGPIPE
        return status if isinstance(status, int) else 0
    except LockwrightError as error:
        return _explain(error)
    except click.ClickException as error:
        return _explain(_usage(error, sys.argv[1:] if arguments is None else arguments))
    except (KeyboardInterrupt, click.Abort):
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The pipe was closed (`lockwright list | head`): end as a filter does.
        streams.leave_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        where = error.filename or "standard output"
        if not error.filename:
            streams.leave_output()
        return _explain(
            LockwrightError(
                f"{where}: {error.strerror or error}",
                "check the path, the space left and the rights",
            )
        )
