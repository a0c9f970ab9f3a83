"""Options of the commands that predict."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from lockwright.commands.common import grammar

_HERE = "here"
"""The name of this machine."""


def shared_options(
    *, is_quick: bool = False, arguments: grammar.Decorator | None = None
) -> grammar.Decorator:
    """Return the argument for the profile and the options for the machine and the simulations,
    passed to the command as `request`, of the type lockwright.predict.prepare.Request. is_quick:
    the simulations are those of `advise` by default. arguments: words in place of the profile,
    passed to the command, too; the first one is the profile."""
    return partial(_with_options, is_quick, arguments)


def _with_options(
    is_quick: bool, arguments: grammar.Decorator | None, command: Callable[..., Any]
) -> Callable[..., Any]:
    @wraps(command)
    def with_request(**values: Any) -> Any:
        from lockwright.predict.prepare import Request
        from lockwright.predict.simulations import QUICK_STEPS, STEPS

        steps = QUICK_STEPS if is_quick else STEPS
        if arguments is not None:
            values["profile"] = Path(values["arguments"][0])
        names = ("profile", "machine_name", "runs", "seconds", "seed", "timeout")
        of_request = {name: values.pop(name) for name in names}
        return command(request=Request(**of_request, steps=steps), **values)

    options: list[grammar.Decorator] = [
        arguments or click.argument("profile", type=click.Path(path_type=Path, dir_okay=False)),
        grammar.machine(_HERE),
        grammar.runs(1 if is_quick else 2, of="each simulation, with different seeds"),
        grammar.seconds(
            None, least=0.000001, of=" of simulated time", note="[default: by the model]"
        ),
        grammar.seed(1),
        grammar.timeout(120.0),
    ]
    return grammar.with_options(with_request, options)
