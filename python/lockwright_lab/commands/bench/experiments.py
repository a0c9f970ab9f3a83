"""The commands of measurements: their options by their declarations."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import click
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import complete, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import (
    meter_options,
    name_list,
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

from lockwright_lab.bench.measurement import Measurement, Option
from lockwright_lab.bench.runs import BEFORE_AND_AFTER, Common

Declare = Callable[..., Experiment]
"""A function of `Common` and the own options of a measurement, by their names."""

Decorator = Callable[..., Any]


def command_of(measurement: Measurement) -> click.Command:
    """Return the command of a declared measurement."""
    file = measurement.file
    own = [_option(name, each) for name, each in file.options.items()]

    def declare(common: Common, **values: Any) -> Experiment:
        named = {name: values[name.replace("-", "_")] for name in file.options}
        return measurement.experiment(measurement.given(common, named))

    terms = [definitions(columns, heading) for heading, columns in measurement.terms.items()]
    return command(
        measurement.name,
        declare,
        "\n\n".join([file.summary, *file.more, *terms]),
        measurement.columns,
        file.rounds,
        file.locks,
        own=own,
        timeout=file.timeout,
        with_locks=file.with_locks,
        with_meters=file.with_meters,
    )


def command(
    name: str,
    declare: Declare,
    help_text: str,
    columns: Sequence[Column],
    rounds: int,
    default_locks: Sequence[str] | None,
    *,
    own: Sequence[Decorator] = (),
    timeout: float = 0.0,
    with_locks: bool = True,
    with_meters: bool = True,
) -> click.Command:
    """Return the command of an experiment. own: its options; default_locks: None for all; timeout:
    0 for one by the length of a run; with_meters: whether the runs can have meters, and can be of
    other libraries."""
    named = ", ".join(default_locks) if default_locks else "all"
    beside = " to measure beside libc, or 'libc' alone" if with_meters else ""
    text = True if timeout else f"time of a run + {BEFORE_AND_AFTER:g}"
    options: list[Decorator] = [
        *([grammar.locks(named, beside=beside)] if with_locks else []),
        *([preload_option(expose_value=False, callback=store_value)] if with_meters else []),
        grammar.runs(rounds),
        grammar.timeout(timeout or None, default_text=text),
        experiment_options,
        *(meter_options() if with_meters else []),
    ]

    def run(
        request: Request,
        runs: int,
        timeout: float | None,
        locks: str | None = None,
        energy: bool = False,
        counters: bool = False,
        **values: Any,
    ) -> None:
        chosen = _subjects(locks, default_locks) if with_locks else []
        seconds = values.get("seconds", 0.0) + values.get("warm_up", 0.0)
        common = Common(chosen, runs, timeout or seconds + BEFORE_AND_AFTER)
        experiment = declare(common, **values)
        meters = Meters(energy=energy, counters=counters)
        if meters.wanted:
            experiment = replace(experiment, meters=meters, around=lambda: metered(meters))
        click.get_current_context().exit(conduct(experiment, request))

    run.__doc__ = f"{help_text}\n\n{definitions(columns)}"
    decorated = reduce(lambda inner, option: option(inner), reversed([*options, *own]), run)
    return click.command(name)(decorated)


def _subjects(locks: str | None, default: Sequence[str] | None) -> list[Subject]:
    known = registry().names
    built = default and [name for name in default if name in known]
    return subjects(locks, built, other_libraries())


def _option(name: str, of: Option) -> Decorator:
    """Return the option of a declaration."""
    option, default = f"--{name}", of.default
    if name == "seconds":
        return grammar.seconds(float(str(default)), note=of.text)
    if name == "warm-up":
        return grammar.warm_up(float(str(default)))
    match default:
        case bool():
            return click.option(option, is_flag=True, help=of.text)
        case list():
            words = ",".join(each if isinstance(each, str) else f"{each:g}" for each in default)
            parse = partial(_list, option, of)
            return click.option(
                option,
                default=words,
                show_default=True,
                metavar="A,B,...",
                callback=parse,
                help=of.text,
            )
        case int():
            least = 1 if of.least is None else int(of.least)
            most = None if of.most is None else int(of.most)
            return grammar.integer(option, default, of.text, least=least, most=most)
        case float():
            return grammar.real_number(
                option, default, of.text, metavar=of.metavar, min=of.least or 0
            )
    if of.among:
        choice = click.Choice(of.among)
        return click.option(option, type=choice, default=default, show_default=True, help=of.text)
    complete_lock = complete.lock if of.metavar == "LOCK" else None
    return click.option(
        option,
        default=default,
        show_default=True,
        metavar=of.metavar,
        shell_complete=complete_lock,
        help=of.text,
    )


def _list(option: str, of: Option, _: click.Context, __: click.Parameter, text: str) -> list[Any]:
    if of.among:
        return list(name_list(text, option, of.among))
    values = number_list(text, option, of.least or 0.0)
    if of.most is not None and max(values) > of.most:
        raise LockwrightError(
            f"{option} {max(values):g} is above {of.most:g}", f"give numbers up to {of.most:g}"
        )
    return values
