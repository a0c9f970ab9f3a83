"""`lockwright bench WORKLOAD` for the workloads of the measuring program, and `bench --list`."""

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click
from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import grammar
from lockwright.commands.common.options import number_list
from lockwright.experiment import Experiment
from lockwright.machine import pinning
from lockwright.run.bench_program import LIBC, Subject

from lockwright_lab.bench import workload_runs
from lockwright_lab.bench.catalogue import Catalogue, Parameter, Workload, catalogue
from lockwright_lab.bench.runs import Common
from lockwright_lab.bench.workload_runs import Request, workload_experiment
from lockwright_lab.commands.bench.experiments import command

RUNS = 5
"""Default number of runs; the papers make 3 to 11."""

DEFAULT_LOCKS = ("mcs-stp", "clh-stp", "futex", "pthread")
"""Locks that park, and the C library's mutex through the same layer."""


def build(name: str) -> click.Command | None:
    """Return the command of a workload; None if there is no workload of that name."""
    known = catalogue()
    workload = known.workloads.get(name)
    if workload is None:
        return None

    def declare(common: Common, **values: Any) -> Experiment:
        common = replace(common, chosen=common.chosen or [Subject(LIBC)])
        return workload_experiment(common, _request(workload, values))

    made = command(
        name,
        declare,
        _help(workload),
        workload_runs.all_columns(workload),
        RUNS,
        DEFAULT_LOCKS,
        with_locks=workload.uses_lock,
    )
    made.params[:0] = _options(workload, known)
    return made


def _help(workload: Workload) -> str:
    about = f"{_sentence(workload.measures)}\n\nSource: {workload.source}."
    if not workload.presets:
        return about
    lines = ["\b", "Presets:"]
    for preset in workload.presets:
        values = " ".join(f"--{name} {value}" for name, value in preset.values.items())
        text = f"{preset.name}: {preset.meaning} ({values})"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return f"{about}\n\n" + "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _options(workload: Workload, known: Catalogue) -> list[click.Parameter]:
    several = "Several values, separated by commas, are combined with those of other options."
    options: list[click.Parameter] = [
        click.Option(
            ["--threads"],
            default=str(workload.threads),
            show_default=True,
            help=f"Threads. {several}",
        )
    ]
    for parameter in workload.parameters:
        options.append(_option(parameter))
    if workload.presets:
        names = [preset.name for preset in workload.presets]
        options.append(
            click.Option(
                ["--preset"],
                type=click.Choice(names),
                help="Values of the paper; options on the command line override them.",
            )
        )
    initial = {name: known.common[name].initial for name in _timing(workload)}
    options.append(grammar.as_parameter(grammar.seconds(initial.pop("seconds"))))
    if "warm-up" in initial:
        options.append(grammar.as_parameter(grammar.warm_up(initial.pop("warm-up"))))
    options += [_number(known.common[name]) for name in initial]
    options.append(
        click.Option(
            ["--pin"],
            type=click.Choice(list(pinning.MODES)),
            default="none",
            show_default=True,
            help="Which processors a thread may use. "
            + "; ".join(f"{mode}: {meaning}" for mode, meaning in pinning.MODES.items())
            + ".",
        )
    )
    return [*options, *(_meters(workload, known) if workload.uses_lock else ())]


def _meters(workload: Workload, known: Catalogue) -> list[click.Parameter]:
    """Return the options for runs with meters beside the others."""
    texts = {
        "--latency": "Also measure, in separate runs, the durations of acquisitions, sections, "
        "handovers and operations.",
        "--calls": "Also count, in runs under the counting libraries, contended acquisitions and "
        "futex calls.",
    }
    if workload.one_mutex:
        texts["--admissions"] = (
            "Also measure, in separate runs, how many threads circulate and how soon each acquires "
            "again."
        )
    options: list[click.Parameter] = [
        click.Option([name], is_flag=True, help=text) for name, text in texts.items()
    ]
    return [*options, *([_number(known.common["window"])] if workload.one_mutex else ())]


def _timing(workload: Workload) -> tuple[str, ...]:
    """Return the common parameters that are options of this workload."""
    return ("seconds", "warm-up", "rate") if workload.uses_lock else ("seconds",)


def _option(parameter: Parameter) -> click.Option:
    unit = f" ({parameter.unit})" if parameter.unit else ""
    choice = f" One or more of {', '.join(parameter.words)}." if parameter.words else ""
    return click.Option(
        [f"--{parameter.name}"],
        default=parameter.default,
        show_default=True,
        help=f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]}{unit}.{choice}",
    )


def _number(parameter: Parameter) -> click.Option:
    return click.Option(
        [f"--{parameter.name}"],
        type=click.FloatRange(min=parameter.least),
        default=parameter.initial,
        show_default=True,
        help=f"{parameter.meaning[:1].upper()}{parameter.meaning[1:]}"
        + (f" ({parameter.unit})." if parameter.unit else "."),
    )


def _values(parameter: Parameter, text: str) -> list[str]:
    """Return the values that an option's text lists, as the measuring program takes them."""
    option = f"--{parameter.name}"
    if not parameter.words:
        return [f"{value:.12g}" for value in number_list(text, option, parameter.least)]
    chosen = text.split(",")
    for word in chosen:
        if word not in parameter.words:
            raise LockwrightError(
                f"invalid value '{word}' for {option}", f"choose from {', '.join(parameter.words)}"
            )
    return chosen


def _listed(workload: Workload, values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values of the threads and of each option, those of a preset where none is given on
    the command line."""
    preset = next((p for p in workload.presets if p.name == values.get("preset")), None)
    context = click.get_current_context()
    listed: dict[str, list[str]] = {}
    for parameter in [Parameter("threads", workload.threads, 1, "", ""), *workload.parameters]:
        key = parameter.name.replace("-", "_")
        text = str(values[key])
        is_given = context.get_parameter_source(key) is click.core.ParameterSource.COMMANDLINE
        if preset is not None and not is_given:
            text = preset.values.get(parameter.name, text)
        listed[parameter.name] = list(dict.fromkeys(_values(parameter, text)))
    for count in listed["threads"]:
        if float(count) != int(float(count)):
            raise LockwrightError(
                f"'{count}' is not a number of threads", "give whole numbers with --threads"
            )
    return listed


def _request(workload: Workload, values: Mapping[str, Any]) -> Request:
    listed = _listed(workload, values)
    is_varied = {name: len(each) > 1 or name == "threads" for name, each in listed.items()}
    fixed: dict[str, object] = {n: each[0] for n, each in listed.items() if not is_varied[n]}
    for name in _timing(workload):
        fixed[name] = values[name.replace("-", "_")]
    if workload.one_mutex:
        fixed["window"] = values["window"]
    if processors := pinning.processor_lists(values["pin"], pinning.usable_processors()):
        fixed["pin"] = processors
    return Request(
        workload,
        {name: each for name, each in listed.items() if is_varied[name]},
        fixed,
        {meter: 1 for meter in ("latency", "admissions") if values.get(meter)},
        bool(values.get("calls")),
    )


def print_list(measurements: Mapping[str, click.Command]) -> None:
    """Print the other measurements, then all workloads with measure, source and parameters."""
    console = terminal.output()
    console.print(
        "Lockwright's own measurements, described by 'lockwright bench NAME --help':", style="bold"
    )
    for name, each in measurements.items():
        terminal.print_wrapped(console, f"  {name}: ", each.get_short_help_str(200), "")
    console.print()
    for workload in catalogue().workloads.values():
        console.print(workload.name, style="bold")
        for start, text in [
            ("  ", workload.measures),
            ("  source: ", workload.source),
            ("  counts: ", workload.operation),
            ("  threads: ", str(workload.threads)),
        ]:
            terminal.print_wrapped(console, start, text, "")
        for parameter in workload.parameters:
            unit = f" {parameter.unit}" if parameter.unit else ""
            words = f"; one of {', '.join(parameter.words)}" if parameter.words else ""
            start = f"  --{parameter.name} {parameter.default}{unit}: "
            terminal.print_wrapped(console, start, parameter.meaning + words, "")
        for preset in workload.presets:
            terminal.print_wrapped(console, f"  --preset {preset.name}: ", preset.meaning, "")
        console.print()
