"""Options of the commands that predict."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from lockwright.commands.common import grammar

_HERE = "here"
"""The name of this machine."""


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument for the profile and the options for the machine and the simulations, passed
    to the command as `request`, of the type lockwright.predict.prepare.Request."""

    @wraps(command)
    def with_request(**values: Any) -> Any:
        from lockwright.predict.prepare import Request

        names = ("profile", "machine_name", "runs", "seconds", "seed", "timeout")
        return command(request=Request(**{name: values.pop(name) for name in names}), **values)

    options: list[grammar.Decorator] = [
        click.argument("profile", type=click.Path(path_type=Path, dir_okay=False)),
        grammar.machine(_HERE),
        grammar.runs(2, of="each simulation, with different seeds"),
        grammar.seconds(
            None, least=0.000001, of=" of simulated time", note="[default: by the model]"
        ),
        grammar.seed(1),
        grammar.timeout(120.0),
    ]
    return grammar.with_options(with_request, options)
