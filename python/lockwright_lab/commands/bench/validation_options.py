"""Options that the validations have in common: of the simulator, and of predictions."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

import click
from lockwright.commands.common import grammar

Command = TypeVar("Command", bound=Callable[..., object])


def cells_and_parts(
    threads: Sequence[int], parts: Sequence[str], *, rest: str
) -> Callable[[Command], Command]:
    """Add --threads, --parts and --minutes; `rest` says how the other runs are made."""
    options = (
        click.option(
            "--threads",
            default=",".join(map(str, threads)),
            show_default=True,
            metavar="N,...",
            help="Numbers of threads.",
        ),
        click.option(
            "--parts",
            default=",".join(parts),
            show_default=True,
            metavar="A,B,...",
            help="Parts to run; the tables include those of earlier calls.",
        ),
        click.option(
            "--minutes",
            type=grammar.FiniteRange(min=0, min_open=True),
            metavar="M",
            help=f"Begin no real run after M minutes; {rest} makes the remaining ones.",
        ),
    )

    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)
