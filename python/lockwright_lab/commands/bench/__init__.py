"""`lockwright bench`: the costs of each lock, measured side by side with the C library's mutex."""

import click
from lockwright.commands.common.groups import Group

from lockwright_lab.bench.catalogue import catalogue
from lockwright_lab.bench.declared import MEASUREMENTS
from lockwright_lab.commands.bench.advice import command as advice
from lockwright_lab.commands.bench.claims import claims
from lockwright_lab.commands.bench.experiments import command_of
from lockwright_lab.commands.bench.predictions import command as predictions
from lockwright_lab.commands.bench.regret import command as regret
from lockwright_lab.commands.bench.simulator import command as simulator
from lockwright_lab.commands.bench.tune import command as tune
from lockwright_lab.commands.bench.what_if import command as what_if
from lockwright_lab.commands.common.grammar import shared

_LINE = 60
"""Characters of a command's help in the list."""


class _Measurements(Group):
    """The measurements of this module, and the workloads that the measuring program describes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *catalogue().workloads]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        from lockwright_lab.commands.bench import workload

        return workload.build(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each measurement, and the names of the workloads."""
        rows = [(name, each.get_short_help_str(_LINE)) for name, each in self.commands.items()]
        with formatter.section("Measurements"):
            formatter.write_dl(sorted(rows))
        with formatter.section("Workloads, which --list describes"):
            formatter.write_text(", ".join(catalogue().workloads))


def _print_list(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from lockwright_lab.commands.bench import workload

        assert isinstance(ctx.command, click.Group)
        workload.print_list(ctx.command.commands)
        ctx.exit()


@click.group(cls=_Measurements)
@shared(
    "--list",
    "List every workload: its measure, its source and its parameters.",
    is_eager=True,
    expose_value=False,
    callback=_print_list,
)
def bench() -> None:
    """Measure locks side by side with the C library's own mutex.

    Every lock's run is paired with a run without any library, over several rounds. Ratios are
    taken within each pair, which makes them robust against noise of the machine.
    """


_OTHERS = (claims, tune, regret, simulator, predictions, advice, what_if)

for each in (*map(command_of, MEASUREMENTS), *_OTHERS):
    bench.add_command(each)

command = bench
