"""The commands of measurements: their options by their declarations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.commands.common.options import (
    meter_options,
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
from lockwright_lab.commands.bench import parameters
from lockwright_lab.commands.common.grammar import SHARED, shared, warm_up

Decorator = Callable[..., Any]

_SHARED = {*grammar.SHARED, *SHARED}
"""Names of options; what a measurement declares beside them are parameters."""


def command_of(measurement: Measurement) -> click.Command:
    """Return the command of a measurement."""
    file = measurement.file
    options = {n: each for n, each in file.options.items() if f"--{n}" in _SHARED}
    others = {n: each for n, each in file.options.items() if n not in options}

    def run(
        request: Request,
        runs: int,
        timeout: float | None,
        locks: str | None = None,
        energy: bool = False,
        counters: bool = False,
        words: Sequence[str] = (),
        **values: Any,
    ) -> None:
        chosen = _subjects(locks, file.locks) if file.with_locks else []
        seconds = values.get("seconds", 0.0) + values.get("warm_up", 0.0)
        common = Common(chosen, runs, timeout or seconds + BEFORE_AND_AFTER)
        named = {name: values[name.replace("-", "_")] for name in options}
        named |= _parameters(words, others)
        experiment = measurement.experiment(measurement.given(common, named))
        meters = Meters(energy=energy, counters=counters)
        if meters.wanted:
            experiment = replace(experiment, meters=meters, around=lambda: metered(meters))
        click.get_current_context().exit(conduct(experiment, request))

    terms = [definitions(columns, heading) for heading, columns in measurement.terms.items()]
    about = [file.summary, *_described(others), *file.more, *terms]
    run.__doc__ = "\n\n".join([*about, definitions(measurement.columns)])
    own = [_option(name, each) for name, each in options.items()]
    own += [parameters.set_option()] if others else []
    decorated = grammar.with_options(run, [*_common_options(file), *own])
    return brief.command(measurement.name)(decorated)


def _parameters(words: Sequence[str], known: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values of parameters: of --set, of a preset, or by default."""
    preset = click.get_current_context().default_map or {}
    texts = {n: str(preset[key]) for n in known if (key := n.replace("-", "_")) in preset}
    texts |= parameters.given(words, known)
    return {
        name: parameters.value_of(name, of, texts[name]) if name in texts else of.default
        for name, of in known.items()
    }


def _described(options: Mapping[str, Option]) -> list[str]:
    rows = [(name, parameters.shown(of.default), of.text) for name, of in options.items()]
    return [parameters.described(rows)] if rows else []


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
    """Return the option of a declaration that has one of the shared names."""
    option = f"--{name}"
    if name == "seconds":
        return grammar.seconds(float(str(of.default)), note=of.text)
    if name == "warm-up":
        return warm_up(float(str(of.default)))
    more: dict[str, Any] = {}
    if isinstance(of.default, list):
        more["callback"] = partial(_list, option, of)
    elif of.among:
        more["type"] = click.Choice(of.among)
    elif isinstance(of.default, float):
        more["type"] = grammar.FiniteRange(min=of.least)
    if of.default is not None and not isinstance(of.default, bool):
        more |= {"default": parameters.shown(of.default), "show_default": True}
    if option in grammar.SHARED:
        return grammar.shared(option, of.text, **more)
    return shared(option, of.text, **more)


def _list(option: str, of: Option, _: click.Context, __: click.Parameter, text: str) -> list[Any]:
    return parameters.list_of(option, of, text)
