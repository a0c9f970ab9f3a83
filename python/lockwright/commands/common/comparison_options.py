"""The options that `compare` and `tune` share."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from lockwright.commands.common import grammar
from lockwright.commands.common.options import meter_options, other_lock_options, preload_option


@dataclass(frozen=True)
class ComparisonOptions:
    """The values of these options."""

    threads: str | None
    metric: str | None
    unit: str | None
    lower_is_better: bool
    timeout: float
    rwlock: str | None
    spin: str | None
    preload: tuple[str, ...]
    energy: bool
    counters: bool
    prepare: str | None
    json_file: Path | None
    csv_file: Path | None
    html_file: Path | None
    db: Path | None
    resume: bool
    title: str | None
    arguments: tuple[str, ...]

    @property
    def outputs(self) -> tuple[tuple[str, Path | None], ...]:
        """The files of results, by option."""
        return ("--json", self.json_file), ("--csv", self.csv_file), ("--html", self.html_file)


_BEFORE: tuple[Callable[..., Any], ...] = (
    click.option("--threads", metavar="N,N,...", help="Thread counts that {threads} stands for."),
    click.option(
        "--metric",
        metavar="REGEX",
        help="Measure this number in the output instead of wall time: the first group of the last"
        " match, in standard output or else in standard error.",
    ),
    click.option("--unit", metavar="U", help="Unit of --metric.  [default: value]"),
    click.option("--lower-is-better", is_flag=True, help="Lower values of --metric are better."),
    grammar.timeout(60.0),
    other_lock_options,
    preload_option(),
    *meter_options(),
)
"""The options at the beginning of the help."""
_AFTER: tuple[Callable[..., Any], ...] = (
    click.option(
        "--prepare", metavar="SHELLCMD", help="Run this by sh before each run, unmeasured."
    ),
    grammar.json_file("everything"),
    grammar.csv_file("a line for each run"),
    grammar.html_file(),
    click.option(
        "--db",
        type=grammar.FILE,
        metavar="FILE",
        callback=grammar.writable,
        help="Store the results in this SQLite file.",
    ),
    click.option("--resume", is_flag=True, help="Resume an interrupted comparison."),
    click.option("--title", metavar="TEXT", help="Title of the report."),
    grammar.command_line("-- CMD...", required=True),
)


def comparison_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of `ComparisonOptions`, passed to the command as its argument `options`."""

    @wraps(command)
    def with_options(**values: Any) -> int:
        options = ComparisonOptions(
            **{field.name: values.pop(field.name) for field in fields(ComparisonOptions)}
        )
        return command(options=options, **values)

    for option in reversed((*_BEFORE, *_AFTER)):
        with_options = option(with_options)
    return with_options
