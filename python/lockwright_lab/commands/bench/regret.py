"""`lockwright bench regret`: how much slower a lock is than the best one, over a grid of loads."""

from typing import Any

import click
from lockwright.commands.common import brief, complete, grammar
from lockwright.commands.common.experiment_options import definitions, experiment_options
from lockwright.experiment.conduct import conduct
from lockwright.experiment.request import Request
from lockwright.preload.locks import registry

from lockwright_lab.bench.regret import contenders, tables
from lockwright_lab.bench.regret.experiment import regret
from lockwright_lab.bench.regret.grid import STARVING_MS
from lockwright_lab.commands.common.grammar import warm_up

_QUICK_RUNS = 6
_RUNS = 10
_SIMULATED_RUNS = 4
_SECONDS = 0.2
_SIMULATED_SECONDS = 0.005


@brief.command(
    "regret",
    help="\n\n".join(
        [
            "Measure how much slower a lock is than the best one, over a grid of loads.",
            "Regret is the rate of the best other lock over that of the lock under test, minus 1. "
            "The best lock is chosen by the even rounds and compared by the odd ones, and the "
            "reverse. A lock under which a thread waits longer than a bound is never the "
            "best. The CSV file has a line for each cell.",
            definitions(tables.COLUMNS, "Columns:"),
        ]
    ),
)
@grammar.lock(
    "The lock under test. For a reader-writer lock, the loads and the other locks are those of "
    f"readers and writers.  [default: {contenders.DEFAULT}]"
)
@grammar.shared(
    "--locks",
    "Locks that may be best, separated by commas, or 'all'; pthread is always among them. A "
    "lock that fails twice in a cell, or has less than half of the best rate in both of the first "
    "two rounds, is not run in that cell again.  [default: all]",
    "against",
    shell_complete=complete.locks,
)
@click.option("--quick", is_flag=True, help="Twelve cells and seven locks: some minutes.")
@click.option(
    "--cells",
    metavar="PATTERN,...",
    help="Only these cells: kinds, or patterns of names such as 'single/100ns/*/16'.",
)
@grammar.runs(
    None,
    of="each lock in each cell",
    least=2,
    default_text=f"{_RUNS}, with --quick {_QUICK_RUNS}, with --machine {_SIMULATED_RUNS}",
)
@grammar.seconds(
    None,
    note="A run with a change of regime takes twice as long.  "
    f"[default: {_SECONDS}, with --machine {_SIMULATED_SECONDS} of simulated time]",
)
@warm_up(0.02)
@grammar.timeout(None, default_text="time of a run + 10")
@grammar.real_number(
    "--longest-wait",
    None,
    "A lock may be best if no thread waits longer than MS milliseconds and twice the time in "
    "which a fair queue serves all threads, in the median run.  "
    f"[default: {STARVING_MS:g}, with --machine half of a run]",
    metavar="MS",
    min=0,
    min_open=True,
)
@click.option(
    "--ablate",
    is_flag=True,
    help="Also run the lock under test with each of its mechanisms switched off: tunables that may "
    "be 0. The default of --locks is then pthread.",
)
@grammar.machine(
    None,
    "Simulate this machine, which 'lockwright simulate --list' shows, instead of measuring "
    "this one; cells that the simulator cannot express are left out.",
    "machine",
)
@experiment_options
def command(*, request: Request, **options: Any) -> int:
    """Measure or resume, print the map and the summary, and write the files."""
    lock = contenders.lock_under_test(options.pop("lock"), registry().names)
    return conduct(regret(lock=lock, **_with_defaults(options)), request)


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    simulates, wanted = options["machine"] is not None, options.pop("runs")
    runs = _SIMULATED_RUNS if simulates else _QUICK_RUNS if options["quick"] else _RUNS
    seconds = options["seconds"] or (_SIMULATED_SECONDS if simulates else _SECONDS)
    bound = options["longest_wait"] or (500 * seconds if simulates else STARVING_MS)
    return options | {"runs_of_each": wanted or runs, "seconds": seconds, "longest_wait": bound}
