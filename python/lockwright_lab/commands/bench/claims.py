"""`lockwright bench claims`: the claims of the papers, tested on this machine."""

from pathlib import Path

import click
from click.core import ParameterSource
from lockwright.base import files, interrupts, terminal
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import Report, definitions
from lockwright.commands.common import grammar
from lockwright.machine.meters import Meters
from lockwright.run.bench_program import loops_per_us

from lockwright_lab.bench.claims import show, show_simulated
from lockwright_lab.bench.claims.evaluate import Finding, obstacle
from lockwright_lab.bench.claims.measure import findings, measure, possible, this_machine
from lockwright_lab.bench.claims.table import choose
from lockwright_lab.bench.output import show as show_report
from lockwright_lab.bench.rounds import RoundResults, RunLengths
from lockwright_lab.commands.bench.report_setup import finish, new_report
from lockwright_lab.commands.bench.simulated_claims import SEEDS, run_simulated

ROUNDS = 13
SECONDS = 0.15
WARM_UP = 0.03


@click.command(
    help="Test which claims of the papers on locks hold on this machine.\n\n"
    "A claim compares locks in a workload. Each round makes every required run once, in a "
    "shuffled order, and the figures are computed within the round.\n\n"
    + definitions(show.COLUMNS, "Columns:")
    + "\n\nWith --simulated, nothing is measured: each claim is run on the simulated machine of "
    "its paper, with the seeds 1 to --seeds.\n\n"
    + definitions(show_simulated.COLUMNS, "Columns with --simulated:")
)
@click.option("--claims", "names", metavar="NAME,...", help="Test these claims.  [default: all]")
@click.option("--list", "only_list", is_flag=True, help="List the claims, and run nothing.")
@click.option(
    "--simulated",
    "is_simulated",
    is_flag=True,
    help="Simulate the claims, each on the machine of its paper, and measure nothing.",
)
@grammar.runs(ROUNDS, of="everything", least=6, note="An interval needs six.")
@grammar.seconds(SECONDS)
@grammar.warm_up(WARM_UP)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    default=SEEDS,
    show_default=True,
    metavar="N",
    help="With --simulated: simulate with the seeds 1 to N.",
)
@grammar.timeout(600.0)
@grammar.json_file("every run; with --simulated the figures of each seed")
@grammar.csv_file("a line for each claim")
def claims(
    names: str | None,
    only_list: bool,
    is_simulated: bool,
    runs: int,
    seconds: float,
    warm_up: float,
    seeds: int,
    timeout: float,
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Test which claims of the papers on locks hold on this machine."""
    chosen = choose(names)
    context = click.get_current_context()

    def is_set(name: str) -> bool:
        return context.get_parameter_source(name) is not ParameterSource.DEFAULT

    if is_simulated:
        if is_set("seconds") or is_set("warm_up"):
            raise LockwrightError(
                "--simulated has a fixed time for each claim", "omit --seconds and --warm-up"
            )
        if is_set("runs"):
            raise LockwrightError("--simulated has seeds, not runs", "give --seeds, not --runs")
        context.exit(run_simulated(chosen, seeds, only_list, timeout, json_file, csv_file))
    for name in ("timeout", "seeds"):
        if is_set(name):
            raise LockwrightError(f"--{name} is for simulations", "add --simulated or omit it")
    machine = this_machine()
    console = terminal.output()
    if only_list:
        show.print_list(console, chosen, [obstacle(claim, machine) for claim in chosen])
        return
    settings: dict[str, object] = {
        "claims": names,
        "runs": runs,
        "seconds": seconds,
        "warm-up": warm_up,
    }
    report = new_report("claims", show.COLUMNS, settings)
    report.meters = Meters(energy=not machine.no_energy)
    results, stopped = RoundResults(), None
    if possible(chosen, machine):
        lengths = RunLengths(seconds, warm_up, loops_per_us())
        stopped = interrupts.until_stopped(
            lambda: measure(report, chosen, machine, runs, lengths, results)
        )
    _show(report, findings(chosen, results, machine), json_file, csv_file)
    finish(report, stopped)


def _show(
    report: Report, found: list[Finding], json_file: Path | None, csv_file: Path | None
) -> None:
    """Print the results of the claims, and write the files."""
    console = terminal.output()
    show.print_findings(console, found)
    report.rows = [show.row(finding) | {"values": finding.values} for finding in found]
    console.print()
    show_report(report, [show.summary(found)], [show.counted(found)], json_file)
    if csv_file is not None:
        files.write(csv_file, show.to_csv(found), "--csv")
        console.print(f"Written: {csv_file}", markup=False)
