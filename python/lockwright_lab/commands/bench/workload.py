"""`lockwright bench WORKLOAD` for the workloads of the measuring program, and `bench --list`."""

import textwrap
from collections.abc import Mapping

import click
from lockwright.base import terminal
from lockwright.commands.common import grammar

from lockwright_lab.bench import workloads
from lockwright_lab.bench.catalogue import Workload, catalogue
from lockwright_lab.commands.bench.experiments import command_of
from lockwright_lab.commands.common.grammar import shared


def build(name: str) -> click.Command | None:
    """Return the command of a workload; None if there is no workload of that name."""
    known = catalogue()
    workload = known.workloads.get(name)
    if workload is None:
        return None
    command = command_of(workloads.measurement(workload, known))
    if workload.presets:
        command.params.insert(0, _preset(workload))
        assert command.help is not None
        command.help = command.help.replace("\n\n", f"\n\n{_presets(workload)}\n\n", 1)
    return command


def _presets(workload: Workload) -> str:
    lines = ["\b", "Presets:"]
    for preset in workload.presets:
        values = " ".join(f"{name}={value}" for name, value in preset.values.items())
        text = f"{preset.name}: {preset.meaning} ({values})"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def _preset(workload: Workload) -> click.Parameter:
    """Return the option whose values are the defaults of the others."""
    values = {preset.name: preset.values for preset in workload.presets}

    def use(context: click.Context, _: click.Parameter, name: str | None) -> None:
        chosen = values[name] if name else {}
        context.default_map = {key.replace("-", "_"): value for key, value in chosen.items()}

    option = shared(
        "--preset",
        "Values of the paper; options on the command line override them.",
        type=click.Choice(list(values)),
        is_eager=True,
        expose_value=False,
        callback=use,
    )
    return grammar.as_parameter(option)


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
            start = f"  {parameter.name}={parameter.default}{unit}: "
            terminal.print_wrapped(console, start, parameter.meaning + words, "")
        for preset in workload.presets:
            terminal.print_wrapped(console, f"  --preset {preset.name}: ", preset.meaning, "")
        console.print()
