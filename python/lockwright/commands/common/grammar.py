"""The options of several commands, each with one name, type and meaning: docs/options.md."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lockwright.base import files
from lockwright.commands.common import complete
from lockwright.commands.common.limits import Duration

FILE = click.Path(path_type=Path)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Kind = Any
"""A type of values: click.ParamType, which has a parameter from click 8.3 on only."""


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fail for infinities and NaN, which float() accepts."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


@dataclass(frozen=True)
class Shared:
    """An option of several commands. metavar: None for a flag; short: its one-letter name;
    not_as: names that no option of that meaning has."""

    metavar: str | None
    kind: Kind = click.STRING
    short: str = ""
    multiple: bool = False
    not_as: tuple[str, ...] = ()

    def option(self, name: str, text: str, *variable: str, **more: Any) -> Decorator:
        """Return the option. text: its help; variable: the argument of the command."""
        details: dict[str, Any] = {"multiple": True} if self.multiple else {}
        if self.metavar is None:
            details["is_flag"] = True
        else:
            details |= {"metavar": self.metavar, "type": self.kind}
        names = [*filter(None, [self.short]), name, *variable]
        return click.option(*names, help=text, **details | more)


_NUMBER = FiniteRange(min=0, min_open=True)

FROM_OUTSIDE = (
    "Observe a running process from outside: only its sleeping waiters are found. Needs the right "
    "to trace the process."
)
"""The help of `--pid` of the commands that read a process's memory."""

SHARED: Mapping[str, Shared] = {
    "--all": Shared(None),
    "--budget": Shared("TIME", Duration(), not_as=("--minutes", "--duration", "--limit")),
    "--counters": Shared(None),
    "--csv": Shared("FILE", FILE),
    "--db": Shared("FILE", FILE, not_as=("--store", "--database")),
    "--energy": Shared(None),
    "--html": Shared("FILE", FILE, not_as=("--page", "--report")),
    "--json": Shared("FILE", FILE),
    "--library": Shared("FILE", FILE),
    "--lock": Shared("LOCK"),
    "--locks": Shared("A,B,...", not_as=("--against", "--contenders")),
    "--lower-is-better": Shared(None),
    "--machine": Shared("NAME|FILE"),
    "--markdown": Shared("FILE", FILE),
    "--metric": Shared("REGEX"),
    "--output": Shared("FILE", FILE, "-o", not_as=("--out", "--file")),
    "--pid": Shared("PID", click.IntRange(min=1)),
    "--preload": Shared("NAME=PATH", multiple=True, not_as=("--library-path",)),
    "--prepare": Shared("SHELLCMD"),
    "--profile": Shared("FILE", FILE),
    "--resume": Shared(None, not_as=("--continue",)),
    "--runs": Shared("N", click.IntRange(min=1), not_as=("--rounds", "--repeat")),
    "--rwlock": Shared("keep|mutex|NAME"),
    "--rwlocks": Shared("A,B,..."),
    "--seconds": Shared("S", _NUMBER),
    "--seed": Shared("N", click.IntRange(min=0, max=2**64 - 1)),
    "--spin": Shared("keep|mutex"),
    "--threads": Shared("N,...", not_as=("--counts", "--workers")),
    "--timeout": Shared("S", _NUMBER, not_as=("--kill-after",)),
    "--unit": Shared("U"),
}
"""The options of several commands by their names. An option that two commands have is one of these,
or of the laboratory's table; a test compares them."""


def shared(name: str, text: str, *variable: str, **more: Any) -> Decorator:
    """Return an option of the table. text: its help; variable: the argument of the command, by
    default the name's; more: of click.option."""
    return SHARED[name].option(name, text, *variable, **more)


def writable(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Fail before the command starts if an output file cannot be written: an option's callback."""
    if path is not None and not ctx.resilient_parsing:
        paths: dict[str, Path] = ctx.meta.setdefault(f"{__name__}.output_files", {})
        paths[max(option.opts, key=len)] = path
        files.check_all_writable(paths)
    return path


def output_file(ctx: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Do the same for a file that may be `-`, for which standard output is then reserved."""
    if path == files.STANDARD_OUTPUT and not ctx.resilient_parsing:
        ctx.with_resource(files.reserved_output())
    return writable(ctx, option, path)


def json_file(content: str) -> Decorator:
    """Return `--json FILE`."""
    return _file("--json", "JSON", content)


def csv_file(content: str) -> Decorator:
    """Return `--csv FILE`."""
    return _file("--csv", "CSV", content)


def markdown_file() -> Decorator:
    """Return `--markdown FILE`."""
    return _file("--markdown", "Markdown", "a summary for a pull request")


def html_file(content: str = "a report with plots") -> Decorator:
    """Return `--html FILE`."""
    return _file("--html", "HTML", content)


def _file(name: str, form: str, content: str) -> Decorator:
    text = f"Also write {content} as {form} to FILE; '-' is standard output."
    return shared(name, text, f"{name[2:]}_file", callback=output_file)


def output_to_file(content: str, *, default: str = "", **more: Any) -> Decorator:
    """Return `-o`, `--output FILE` for the main result. default: the path without the option."""
    return shared("--output", with_default(f"Write {content} to FILE.", default), **more)


def runs(
    default: int | None,
    *,
    of: str = "each lock",
    least: int = 1,
    note: str = "",
    default_text: str | bool = True,
) -> Decorator:
    """Return `--runs N`, the number of repetitions. of: the repeated object; default_text: the
    default in words, if it is not a number."""
    return shared(
        "--runs",
        _joined(f"Runs of {of}.", note),
        type=click.IntRange(min=least),
        default=default,
        show_default=default_text,
    )


def seconds(
    default: float | None, *, least: float = 0.001, of: str = " in each run", note: str = ""
) -> Decorator:
    """Return `--seconds S`, the duration of a measurement. of: the measured object."""
    text = _joined(f"Measure for S seconds{of}.", note)
    return shared(
        "--seconds", text, type=FiniteRange(min=least), default=default, show_default=True
    )


def timeout(default: float | None, *, default_text: str | bool = True) -> Decorator:
    """Return `--timeout S`. default_text: the default in words, if it is not a number."""
    text = "Kill a run, and all processes that it started, after S seconds."
    return shared("--timeout", text, default=default, show_default=default_text)


def integer(
    name: str,
    default: int | None,
    text: str,
    *,
    least: int = 1,
    most: int | None = None,
    metavar: str | None = "N",
) -> Decorator:
    """Return an option that is an integer from `least` to `most`. text: its help."""
    return _number(name, click.IntRange(least, most), default, text, metavar)


def real_number(
    name: str, default: float | None, text: str, *, metavar: str | None, **bounds: Any
) -> Decorator:
    """Return an option that is a finite number. text: its help; bounds: of its FiniteRange."""
    return _number(name, FiniteRange(**bounds), default, text, metavar)


def _number(
    name: str, kind: "click.ParamType[Any]", default: float | None, text: str, metavar: str | None
) -> Decorator:
    return click.option(
        name, type=kind, default=default, show_default=True, metavar=metavar, help=text
    )


def pid(text: str) -> Decorator:
    """Return `--pid PID`, a running process to observe."""
    return shared("--pid", text)


def seed(default: int | None = None) -> Decorator:
    """Return `--seed N`. default: None for a random one."""
    text = with_default("Seed of the random numbers.", str(default or "random"))
    return shared("--seed", text, default=default)


def locks(
    default: str,
    *,
    value: str | None = None,
    beside: str = "",
    completer: complete.Completer = complete.locks,
) -> Decorator:
    """Return `--locks A,B,...`. default: in words; value: the value without the option; beside:
    words to insert after "Locks"."""
    text = with_default(f"Locks{beside}, separated by commas, or 'all'.", default)
    return shared("--locks", text, default=value, shell_complete=completer)


def rwlocks(text: str, **more: Any) -> Decorator:
    """Return `--rwlocks A,B,...`."""
    return shared("--rwlocks", text, shell_complete=complete.rwlocks, **more)


def lock(text: str, completer: complete.Completer = complete.lock, **more: Any) -> Decorator:
    """Return `--lock LOCK`."""
    return shared("--lock", text, shell_complete=completer, **more)


def threads(
    text: str = "Numbers of threads.", *, default: str | None = None, words: str = ""
) -> Decorator:
    """Return `--threads N,...`. words: the default, if it is not a list."""
    more: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return shared("--threads", with_default(text, words), **more)


MACHINES = (
    "The machine: one of 'lockwright simulate --list', a TOML file, or 'here' for this one, which "
    "is measured at the first use."
)


def machine(default: str | None, text: str = MACHINES, *variable: str) -> Decorator:
    """Return `--machine NAME|FILE`, a simulated machine."""
    more: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return shared("--machine", text, *(variable or ("machine_name",)), **more)


def budget(
    words: str, text: str = "Time for everything, as in 90s, 5m or 1h.", **more: Any
) -> Decorator:
    """Return `--budget TIME`, in seconds. words: the default."""
    return shared("--budget", with_default(text, words), **more)


def command_line(metavar: str, *, required: bool = False) -> Decorator:
    """Return the argument for a program and its arguments."""
    return click.argument(
        "arguments",
        metavar=metavar,
        nargs=-1,
        required=required,
        shell_complete=complete.command_line,
    )


def with_options(command: Callable[..., Any], options: Iterable[Decorator]) -> Callable[..., Any]:
    """Return a command with options, in this order in its help."""
    for option in reversed([*options]):
        command = option(command)
    return command


def as_parameter(decorator: Decorator) -> click.Parameter:
    """Return the option as an object, for a command without decorators."""
    with_option = decorator(lambda: None)
    option: click.Parameter = with_option.__click_params__[0]  # type: ignore[attr-defined]
    return option


def with_default(text: str, default: str) -> str:
    """Return a help with the default in words; '' for none."""
    return f"{text}  [default: {default}]" if default else text


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
