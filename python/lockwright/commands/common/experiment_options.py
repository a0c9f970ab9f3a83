"""The options of every command that carries out an experiment."""

import textwrap
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Protocol

from lockwright.commands.common import grammar
from lockwright.experiment.request import Request

_OPTIONS: tuple[Callable[..., Any], ...] = (
    grammar.json_file("every run and every figure"),
    grammar.csv_file("a line for each run"),
    grammar.html_file(),
    grammar.shared("--db", "Store the runs in this SQLite file.", callback=grammar.writable),
    grammar.shared("--resume", "Resume the same command that was interrupted."),
)


def experiment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Request`, passed to the command as its argument `request`."""

    @wraps(command)
    def with_request(**values: Any) -> Any:
        names = ("json_file", "csv_file", "html_file", "db", "resume")
        request = Request(**{name: values.pop(name) for name in names})
        return command(request=request, **values)

    return grammar.with_options(with_request, _OPTIONS)


class _Defined(Protocol):
    @property
    def heading(self) -> str: ...
    @property
    def definition(self) -> str: ...


SPREAD = "Columns (±: half the distance between the quartiles over the rounds):"


def definitions(columns: Iterable[_Defined], heading: str = SPREAD) -> str:
    """Return the definitions of columns as a block for click's help text, which `\\b` keeps from
    wrapping."""
    lines = ["\b", heading]
    for column in columns:
        text = f"{column.heading}: {column.definition}"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)
