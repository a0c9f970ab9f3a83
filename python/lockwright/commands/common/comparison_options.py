"""The options that `compare` and `tune` share."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

from lockwright.commands.common import grammar
from lockwright.commands.common.experiment_options import experiment_options
from lockwright.commands.common.options import meter_options, other_lock_options, preload_option
from lockwright.compare.request import Request

_OPTIONS: tuple[Callable[..., Any], ...] = (
    grammar.threads("Numbers of threads, which {threads} stands for."),
    grammar.shared(
        "--metric",
        "Measure this number in the output instead of wall time: the first group of the last match,"
        " in standard output or else in standard error.",
    ),
    grammar.shared("--unit", "Unit of --metric.  [default: value]"),
    grammar.shared("--lower-is-better", "Lower values of --metric are better."),
    grammar.timeout(60.0),
    other_lock_options,
    preload_option(),
    *meter_options(),
    grammar.shared("--prepare", "Run this by sh before each run, unmeasured."),
    experiment_options,
    grammar.command_line("-- CMD...", required=True),
)


def comparison_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of `Request`, passed to the command as its argument `options`."""

    @wraps(command)
    def with_options(**values: Any) -> int:
        values["output"] = values.pop("request")
        options = Request(**{field.name: values.pop(field.name) for field in fields(Request)})
        return command(options=options, **values)

    return grammar.with_options(with_options, _OPTIONS)
