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
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.machine.meters import Meters
from lockwright.preload.locks import registry
from lockwright.run.bench_program import Subject, metered, subjects

from lockwright_lab.bench.measurement import Declaration, Measurement, Option
from lockwright_lab.bench.runs import BEFORE_AND_AFTER, Common

Decorator = Callable[..., Any]


def command_of(measurement: Measurement) -> click.Command:
    """Return the command of a measurement."""
    file = measurement.file

    def run(
        request: Request,
        runs: int,
        timeout: float | None,
        locks: str | None = None,
        energy: bool = False,
        counters: bool = False,
        **values: Any,
    ) -> None:
        chosen = _subjects(locks, file.locks) if file.with_locks else []
        seconds = values.get("seconds", 0.0) + values.get("warm_up", 0.0)
        common = Common(chosen, runs, timeout or seconds + BEFORE_AND_AFTER)
        named = {name: values[name.replace("-", "_")] for name in file.options}
        experiment = measurement.experiment(measurement.given(common, named))
        meters = Meters(energy=energy, counters=counters)
        if meters.wanted:
            experiment = replace(experiment, meters=meters, around=lambda: metered(meters))
        click.get_current_context().exit(conduct(experiment, request))

    terms = [definitions(columns, heading) for heading, columns in measurement.terms.items()]
    run.__doc__ = "\n\n".join([file.summary, *file.more, *terms, definitions(measurement.columns)])
    own = [_option(name, each) for name, each in file.options.items()]
    options = [*_common_options(file), *own]
    decorated = reduce(lambda inner, option: option(inner), reversed(options), run)
    return click.command(measurement.name)(decorated)


def _common_options(file: Declaration) -> list[Decorator]:
    named = ", ".join(file.locks) if file.locks else "all"
    beside = " to measure beside libc, or 'libc' alone" if file.with_meters else ""
    text = True if file.timeout else f"time of a run + {BEFORE_AND_AFTER:g}"
    meters = file.with_meters
    return [
        *([grammar.locks(named, beside=beside)] if file.with_locks else []),
        *([preload_option(expose_value=False, callback=store_value)] if meters else []),
        grammar.runs(file.rounds),
        grammar.timeout(file.timeout or None, default_text=text),
        experiment_options,
        *(meter_options() if meters else []),
    ]


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
