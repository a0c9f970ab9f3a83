"""`lockwright bench claims`: the claims of the papers, tested on this machine."""

import click
from click.core import ParameterSource
from lockwright.base import terminal
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import brief, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request

from lockwright_lab.bench.claims import report
from lockwright_lab.bench.claims.evaluate import obstacle
from lockwright_lab.bench.claims.experiment import measured, prepare, simulated, this_machine
from lockwright_lab.bench.claims.table import choose
from lockwright_lab.commands.common.grammar import shared, warm_up

ROUNDS = 13
SECONDS = 0.15
WARM_UP = 0.03
SEEDS = 3
"""The default number of seeds. A claim on which they differ is open."""


@brief.command(
    "claims",
    help="Test which claims of the papers on locks hold on this machine.\n\n"
    "A claim compares locks in a workload. Each round makes every required run once, in a "
    "shuffled order, and the figures are computed within the round.\n\n"
    "With --simulated, nothing is measured: each claim is run on the simulated machine of "
    "its paper, with the seeds 1 to --seeds.\n\n" + definitions(report.COLUMNS, "Columns:"),
)
@click.option("--claims", "names", metavar="A,B,...", help="Test these claims.  [default: all]")
@shared("--list", "List the claims, and run nothing.", "only_list")
@click.option(
    "--simulated",
    "is_simulated",
    is_flag=True,
    help="Simulate the claims, each on the machine of its paper, and measure nothing.",
)
@grammar.runs(ROUNDS, of="everything", least=6, note="An interval needs six.")
@grammar.seconds(SECONDS)
@warm_up(WARM_UP)
@shared(
    "--seeds",
    "With --simulated: simulate with the seeds 1 to N.",
    default=SEEDS,
    show_default=True,
)
@grammar.timeout(600.0)
@experiment_options
def claims(
    request: Request,
    names: str | None,
    only_list: bool,
    is_simulated: bool,
    runs: int,
    seconds: float,
    warm_up: float,
    seeds: int,
    timeout: float,
) -> int:
    """Test which claims of the papers on locks hold on this machine."""
    chosen = choose(names)
    _check_options(is_simulated)
    machine = this_machine()
    if only_list:
        listed, obstacles = chosen, [obstacle(each, machine) for each in chosen]
        if is_simulated:
            listed = [each.claim for each in prepare(chosen)]
            obstacles = [each.elsewhere for each in listed]
        report.print_list(terminal.output(), listed, obstacles)
        return 0
    if is_simulated:
        return conduct(simulated(chosen, seeds, timeout), request)
    return conduct(measured(chosen, machine, runs, seconds, warm_up), request)


def _check_options(is_simulated: bool) -> None:
    """Raise LockwrightError for options that do not go with or without --simulated."""
    context = click.get_current_context()
    given = [
        name
        for name in ("seconds", "warm_up", "runs", "timeout", "seeds")
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if is_simulated and ("seconds" in given or "warm_up" in given):
        raise LockwrightError(
            "--simulated has a fixed time for each claim", "omit --seconds and --warm-up"
        )
    if is_simulated and "runs" in given:
        raise LockwrightError("--simulated has seeds, not runs", "give --seeds, not --runs")
    for name in ("timeout", "seeds"):
        if not is_simulated and name in given:
            raise LockwrightError(f"--{name} is for simulations", "add --simulated or omit it")
