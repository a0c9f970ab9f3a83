"""The commands of the measurements that are declared as experiments."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import (
    meter_options,
    other_libraries,
    preload_option,
    store_value,
)
from lockwright.experiment import Column, Experiment
from lockwright.experiment.conduct import Request, conduct
from lockwright.machine.meters import Meters
from lockwright.run.bench_program import Subject, metered, subjects


@dataclass(frozen=True)
class Common:
    """The options that all measurements share: subjects, number of runs, seconds of a run."""

    chosen: Sequence[Subject]
    runs: int
    timeout: float


Declare = Callable[..., Experiment]
"""A function of `Common` and the own options of a measurement, by their names."""


def measurement(
    columns: Sequence[Column],
    runs: int,
    default_locks: Sequence[str] | None = None,
    *,
    with_locks: bool = True,
) -> Callable[[Declare], click.Command]:
    """Return a decorator that makes the command of an experiment, which has the decorated
    function's name and own options. default_locks: None for all."""
    named = ", ".join(default_locks) if default_locks else "all"
    shared: list[Callable[..., Any]] = [
        grammar.locks(named, beside=" to measure beside libc, or 'libc' alone"),
        preload_option(expose_value=False, callback=store_value),
    ]
    options = [
        *(shared if with_locks else ()),
        grammar.runs(runs),
        grammar.timeout(30.0),
        experiment_options,
        *meter_options(),
    ]

    def decorate(declare: Declare) -> click.Command:
        @functools.wraps(declare)
        def command(
            request: Request,
            runs: int,
            timeout: float,
            energy: bool,
            counters: bool,
            locks: str | None = None,
            **own: Any,
        ) -> None:
            chosen = subjects(locks, default_locks, other_libraries()) if with_locks else []
            meters = Meters(energy=energy, counters=counters)
            experiment = declare(Common(chosen, runs, timeout), **own)
            experiment = replace(
                experiment, meters=meters, around=lambda: metered(meters if meters.wanted else None)
            )
            click.get_current_context().exit(conduct(experiment, request))

        command.__doc__ = f"{declare.__doc__}\n\n{definitions(columns)}"
        decorated: Callable[..., Any] = command
        for option in reversed(options):
            decorated = option(decorated)
        return click.command(declare.__name__.replace("_", "-"))(decorated)

    return decorate
