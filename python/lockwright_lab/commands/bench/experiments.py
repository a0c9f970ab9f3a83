"""The commands of the measurements that are declared as experiments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce, wraps
from typing import Any

import click
from lockwright.commands.common import grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import (
    meter_options,
    number_list,
    other_libraries,
    preload_option,
    store_value,
)
from lockwright.experiment import Column, Experiment
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.machine.meters import Meters
from lockwright.preload.locks import registry
from lockwright.run.bench_program import Subject, metered, subjects

from lockwright_lab.bench.runs import BEFORE_AND_AFTER, Common, processors

Declare = Callable[..., Experiment]
"""A function of `Common` and the own options of a measurement, by their names."""


def measurement(
    columns: Sequence[Column],
    runs: int,
    default_locks: Sequence[str] | None = None,
    *,
    help_text: str = "",
    timeout: float | None = 30.0,
    with_locks: bool = True,
    with_meters: bool = True,
) -> Callable[[Declare], click.Command]:
    """Return a decorator that makes the command of an experiment, which has the decorated
    function's name and own options. default_locks: None for all; help_text: by default the
    function's; timeout: None for one by the length of a run; with_meters: whether the runs can have
    meters, and can be of other libraries."""
    options = _shared_options(runs, default_locks, timeout, with_locks, with_meters)

    def decorate(declare: Declare) -> click.Command:
        @wraps(declare)
        def command(
            request: Request,
            runs: int,
            timeout: float | None,
            locks: str | None = None,
            energy: bool = False,
            counters: bool = False,
            **own: Any,
        ) -> None:
            chosen = _subjects(locks, default_locks) if with_locks else []
            experiment = declare(Common(chosen, runs, timeout or 0.0), **own)
            meters = Meters(energy=energy, counters=counters)
            if meters.wanted:
                experiment = replace(experiment, meters=meters, around=lambda: metered(meters))
            click.get_current_context().exit(conduct(experiment, request))

        command.__doc__ = f"{help_text or declare.__doc__}\n\n{definitions(columns)}"
        decorated = reduce(lambda inner, option: option(inner), reversed(options), command)
        return click.command(declare.__name__.replace("_", "-"))(decorated)

    return decorate


def _shared_options(
    runs: int,
    default_locks: Sequence[str] | None,
    timeout: float | None,
    with_locks: bool,
    with_meters: bool,
) -> list[Callable[..., Any]]:
    named = ", ".join(default_locks) if default_locks else "all"
    beside = " to measure beside libc, or 'libc' alone" if with_meters else ""
    text = True if timeout else f"time of a run + {BEFORE_AND_AFTER:g}"
    return [
        *((grammar.locks(named, beside=beside),) if with_locks else ()),
        *((preload_option(expose_value=False, callback=store_value),) if with_meters else ()),
        grammar.runs(runs),
        grammar.timeout(timeout, default_text=text),
        experiment_options,
        *(meter_options() if with_meters else ()),
    ]


def _subjects(locks: str | None, default: Sequence[str] | None) -> list[Subject]:
    known = registry().names
    built = default and [name for name in default if name in known]
    return subjects(locks, built, other_libraries())


def named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by their names on the command line, which are the measuring program's."""
    return {name.replace("_", "-"): value for name, value in options.items()}


def numbers_option(
    name: str,
    default: str,
    help_text: str,
    *,
    least: float = 0.0,
    convert: Callable[[list[float]], list[Any]] = lambda values: list(dict.fromkeys(values)),
) -> Callable[..., Any]:
    """Return an option for a list of numbers. convert: makes the argument of the command."""

    def parse(_: click.Context, __: click.Parameter, text: str) -> list[Any]:
        return convert(number_list(text, name, least))

    return click.option(name, default=default, show_default=True, callback=parse, help=help_text)


def threads_per_core(default: str, note: str = "") -> Callable[..., Any]:
    """Return the option for several numbers of threads, which become the argument, each once."""

    def counts(factors: list[float]) -> list[int]:
        return sorted({max(1, round(factor * processors())) for factor in factors})

    text = f"Threads for each processor; a table for each number.{note}"
    return numbers_option("--threads-per-core", default, text, least=0.001, convert=counts)
