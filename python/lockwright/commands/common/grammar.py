"""The options with the same meaning in every command: docs/options.md."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lockwright.base import files
from lockwright.commands.common import complete

FILE = click.Path(path_type=Path)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class FiniteRange(click.FloatRange):
    """A range of finite numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fail for infinities and NaN, which float() accepts."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


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


def json_file(content: str, *, alone: bool = False) -> Decorator:
    """Return `--json FILE`. alone: FILE may be left out before another option and at the end, which
    means `-`."""
    more: dict[str, Any] = {"is_flag": False, "flag_value": "-"} if alone else {}
    return _file("--json", "JSON", content, **more)


def csv_file(content: str) -> Decorator:
    """Return `--csv FILE`."""
    return _file("--csv", "CSV", content)


def markdown_file() -> Decorator:
    """Return `--markdown FILE`."""
    return _file("--markdown", "Markdown", "a summary for a pull request")


def html_file(content: str = "a report with plots") -> Decorator:
    """Return `--html FILE`."""
    return _file("--html", "HTML", content)


def _file(name: str, form: str, content: str, **more: Any) -> Decorator:
    return click.option(
        name,
        f"{name[2:]}_file",
        type=FILE,
        metavar="FILE",
        callback=output_file,
        help=f"Also write {content} as {form} to FILE; '-' is standard output.",
        **more,
    )


def output_to_file(content: str, *, default: str = "", note: str = "", **more: Any) -> Decorator:
    """Return `-o`, `--output FILE` for the main result. default: the path without the option."""
    return _output(_joined(f"Write {content} to FILE.", note), default, metavar="FILE", **more)


def output_to_folder(content: str, *, default: str = "", **more: Any) -> Decorator:
    """Return `-o`, `--output DIR` for results that are a directory."""
    return _output(f"Write {content} into the directory DIR.", default, metavar="DIR", **more)


def _output(text: str, default: str, **more: Any) -> Decorator:
    text += f"  [default: {default}]" if default else ""
    return click.option("-o", "--output", help=text, **{"type": FILE, **more})


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
    return click.option(
        "--runs",
        type=click.IntRange(min=least),
        default=default,
        show_default=default_text,
        metavar="N",
        help=_joined(f"Runs of {of}.", note),
    )


def seconds(
    default: float | None, *, least: float = 0.001, of: str = " in each run", note: str = ""
) -> Decorator:
    """Return `--seconds S`, the duration of a measurement. of: the measured object."""
    return click.option(
        "--seconds",
        type=FiniteRange(min=least),
        default=default,
        show_default=True,
        metavar="S",
        help=_joined(f"Measure for S seconds{of}.", note),
    )


def warm_up(default: float) -> Decorator:
    """Return `--warm-up S`, the time before the measurement."""
    return click.option(
        "--warm-up",
        type=FiniteRange(min=0),
        default=default,
        show_default=True,
        metavar="S",
        help="Run for S seconds before the measurement.",
    )


def timeout(default: float | None, *, default_text: str | bool = True) -> Decorator:
    """Return `--timeout S`. default_text: the default in words, if it is not a number."""
    return click.option(
        "--timeout",
        type=FiniteRange(min=0, min_open=True),
        default=default,
        show_default=default_text,
        metavar="S",
        help="Kill a run, and all processes that it started, after S seconds.",
    )


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


def pid() -> Decorator:
    """Return `--pid PID`, a running process to observe."""
    text = (
        "Observe a running process from outside: only its sleeping waiters are found. Needs the "
        "right to trace the process."
    )
    return integer("--pid", None, text, metavar="PID")


def seed(default: int | None = None) -> Decorator:
    """Return `--seed N`. default: None for a random one."""
    default_text = "random" if default is None else str(default)
    return click.option(
        "--seed",
        type=click.IntRange(min=0, max=2**64 - 1),
        default=default,
        metavar="N",
        help=f"Seed of the random numbers.  [default: {default_text}]",
    )


def locks(default: str, *, value: str | None = None, beside: str = "") -> Decorator:
    """Return `--locks A,B,...`. default: in words; value: the value without the option; beside:
    words to insert after "Locks"."""
    return click.option(
        "--locks",
        metavar="A,B,...",
        shell_complete=complete.locks,
        help=f"Locks{beside}, separated by commas, or 'all'.  [default: {default}]",
        default=value,
    )


def command_line(metavar: str, *, required: bool = False) -> Decorator:
    """Return the argument for a program and its arguments."""
    return click.argument(
        "arguments",
        metavar=metavar,
        nargs=-1,
        required=required,
        shell_complete=complete.command_line,
    )


def as_parameter(decorator: Decorator) -> click.Parameter:
    """Return the option as an object, for a command without decorators."""
    with_option = decorator(lambda: None)
    option: click.Parameter = with_option.__click_params__[0]  # type: ignore[attr-defined]
    return option


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
